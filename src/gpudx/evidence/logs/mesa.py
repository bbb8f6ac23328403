"""Mesa, the open drivers of AMD, Intel, NVIDIA, Arm and others (radeonsi, iris, rusticl, clover, RADV, ANV, panfrost and so on).

Read here: code that its compilers refused (SPIR-V, ACO, ac_rtld), functions that its OpenCL library does not have, a report of a page that
was not mapped (radeonsi with AMD_DEBUG=check_vm), a submission that the kernel refused, and parts of different builds. Devices that were
lost and kernels that were not built are read by formats that all drivers share. Messages: the strings of Mesa 22.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address

FORMAT = "mesa"
MARKS = (
    "SPIR-V parsing FAILED",
    "SPIR-V WARNING",
    "SPIR-V ERROR",
    "ACO ERROR",
    "too much LDS",
    "find clc function",
    "VM fault report",
    "Failing VM page",
    "GPUVM fault detected",
    "intel_do_flush_locked failed",
    "DRI driver not from this Mesa build",
    " PCI ID",
    "command stream overflowed",
)
_COMPILER = re.compile(r"(SPIR-V|ACO) (?:parsing )?(FAILED|ERROR|WARNING):\s*(.*)")
_IN_FILE = re.compile(r"^\s*In file ")
_LDS = re.compile(r"too much LDS \(used = (\d+), max = (\d+)\)")
_FUNCTION = re.compile(r"Can't find clc function (\S+)")
_PAGE = re.compile(r"(?:Failing VM page:|GPUVM fault detected at address) (0x[0-9a-fA-F]+)")
_FLUSH = re.compile(r"intel_do_flush_locked failed: (.+)")
_BUILD = re.compile(r"DRI driver not from this Mesa build(?: \('([^']+)' vs '([^']+)'\))?")
_UNKNOWN_ID = re.compile(r"[Dd]river does not support the (0x[0-9a-fA-F]{4}) PCI ID")
MOST_LINES = 4


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if found := _COMPILER.search(text):
        yield _compiled(found, near)
    elif found := _LDS.search(text):
        said = f"A kernel was not built: it needs {int(found[1]):,} bytes of local memory (LDS), and the device has {int(found[2]):,}."
        yield _refusal("build-failed", said, (("used", found[1]),))
    elif found := _FUNCTION.search(text):
        said = f"A kernel was not linked: Mesa's OpenCL library has no function {found[1]}."
        yield replace(_refusal("symbol-missing", said, (("symbol", found[1][:120]),)), sure=True)
    elif found := _PAGE.search(text):
        value = int(found[1], 16)
        said = f"Work on the device accessed a page that is not mapped ({found[1]})."
        notes = (address(value), "not proved: which kernel, dispatch or draw it was")
        causes = ("out-of-bounds-access",)
        step = _next.OWN["radv"] if "GPUVM" in text else _next.DMESG
        yield Event("device-page-fault", "fault", said, (), tuple(filter(None, notes)), causes, step, sure=False)
    elif found := _FLUSH.search(text):
        said = f"The kernel refused to run more work of this program ({found[1].strip()[:80]}): earlier work hung, or the device was reset."
        why = ("hang", "device-error-reported")
        yield Event("device-lost", "report", said, (("api", "opengl"),), (), why, _next.HANG, sure=False)
    elif found := _BUILD.search(text):
        which = f" ({found[1]} and {found[2]})" if found[1] else ""
        yield _setup("driver-versions-differ", f"Parts of Mesa are from different builds{which}.")
    elif found := _UNKNOWN_ID.search(text):
        said = f"Mesa's driver does not know the device {found[1]}: the driver is older than the device."
        yield replace(_setup("no-device", said), warning=True)
    elif "command stream overflowed" in text:
        yield _refusal("driver-error", "Mesa's driver put more into a command stream than fits in it.", ())


def _compiled(found: re.Match[str], near: Near) -> Event:
    """What a compiler of Mesa says: the reason is behind the place in Mesa's own source."""
    below = [line.strip() for line in near.after(MOST_LINES) if line.strip() and not _IN_FILE.match(line)]
    why = (found[3] or next(iter(below), "no reason given"))[:160].rstrip(".:")
    covers = 0 if found[3] else MOST_LINES - 1
    if found[2] == "WARNING":
        said = f"Mesa's compiler warned about {found[1]} code: {why}."
        return Event("mesa-warning", "ending", said, (("said", why[:80]),), warning=True, covers=covers)
    crashed = found[1] == "ACO"
    kind, said = ("compiler-crashed", "The device compiler itself failed") if crashed else ("build-failed", "Mesa did not build a kernel")
    return replace(_refusal(kind, f"{said}: {why}.", (("said", why[:80]),)), covers=covers)


def _refusal(kind: str, said: str, facts: tuple[tuple[str, str], ...]) -> Event:
    return Event(kind, "refusal", said, facts, causes=("failed-call",), next=_next.RECORD, sure=False)


def _setup(kind: str, said: str) -> Event:
    return Event(kind, "refusal", said, (), next=_next.DOCTOR)
