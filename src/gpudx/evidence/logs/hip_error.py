"""Errors of HIP as programs print them: names (hipErrorIllegalAddress), texts ("HIP error: invalid device function").

HIP has the numbers and texts of CUDA. As there, a fault of the device is reported as noticed here and caused by an earlier
launch. A wrapper over OpenCL may print hipErrorOutOfMemory for CL_OUT_OF_RESOURCES, which drivers also return after a kernel
left its memory: such a line is read as OpenCL's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._languages import FAILS
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place, source
from gpudx.evidence.logs._statuses import event, numbered, told
from gpudx.evidence.logs.cuda_error import NOT_TOLD

FORMAT = "hip-error"
GENERIC = 1
MARKS = (
    "hipError",
    "Str: hip",
    "HIP error",
    "HIP Error",
    "HIP ERROR",
    "hip error",
    "code = HIP:",
    "HIP failure",
    "HIP warning",
    "hipMemcpy",
    "hipModule",
    "hipLaunch",
    "MIOpen",
    "hipStream",
    "hipDevice",
    "hipMalloc",
    "hipFree",
    "hipEvent",
    "hipGet",
    "hipSet",
    "hipGraph",
    "hipInit",
    "hipCtx",
    "hipFunc",
)
_COMGR = re.compile(r"comgr status|AMD_COMGR_", re.IGNORECASE)  # its numbers are its own
_NUMBER = re.compile(rf"(?:(?<![A-Za-z])hip[A-Z]\w+|\bHIP\b)[^\n]{{0,60}}?(?:error|failed|returned|code|{FAILS})\D{{0,12}}(\d{{1,3}})\b"
                     r"|hipError_t\W{1,3}(\d{1,3})\b|(?-i:\bhip[A-Z]\w{3,})\(\): (\d{1,3})\b|\bcode = HIP:(\d{1,4})\b", re.IGNORECASE)
_COMPILED = re.compile(r"HIPRTC_ERROR_COMPILATION|build failed|compil\w+ failed|COMGR_ACTION_COMPILE|comgr status", re.IGNORECASE)
_MIOPEN = re.compile(r"MIOpen(?:\(HIP\))?:? Error:?\s*(?:\[[^\]]*\]\s*)?(.+)")


# The tests of HIP print an error over several lines: its number, the call, its place.
_STR = re.compile(r"^\s*Str: (hip\w+)\(")
_CODE_ABOVE = re.compile(r"^\s*Code: (\d{1,4})\s*$")
_PLACE_BELOW = re.compile(r"^\s*(?:In File|At line): (\S+)")


def _printed_apart(call: str, near: Near) -> Iterator[Event]:
    code = next(filter(None, map(_CODE_ABOVE.match, near.before(3))), None)
    if code and (status := numbered(int(code[1]))):
        where = source(":".join(found[1] for found in map(_PLACE_BELOW.match, near.after(4)) if found))
        yield event(status, "hip", ", ".join(filter(None, (call, where))))


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if call := _STR.match(text):
        yield from _printed_apart(call[1], near)
        return
    status = None if NOT_TOLD.search(text) or "(CL_" in text else told(text)
    number = _NUMBER.search(text)
    if status is None and number and not NOT_TOLD.search(text) and not _COMGR.search(text):
        status = numbered(int(next(filter(None, number.groups()))))
    if status is not None:
        yield event(status, "hip", place(text))
    elif found := _MIOPEN.search(text):
        said = found[1].strip()[:160].rstrip(".")
        facts = (("said", re.sub(r"\d+", "#", said)[:80]),)
        built = bool(_COMPILED.search(said))
        yield Event(
            "build-failed" if built else "miopen-error",
            "refusal",
            f"MIOpen did not build a kernel: {said}." if built else f"MIOpen failed: {said}.",
            facts,
            causes=("failed-call",) if built else (),
            next=_next.DOCTOR if built else _next.HIP_SERIALISE,
            sure=False,
        )
