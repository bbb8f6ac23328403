"""Checks in a program's own code that did not hold: "Check failed: n > 0 (0 vs. 0)", "assertion 'x' failed in f at FILE:LINE".

Macros of any library are recognised by their words. The condition and the values that were compared are kept. A check of a GPU
call's result reports an error of that call: it is decoded where the line has its number, and earlier work may have caused it.
Other checks show where the program stopped itself, and what it expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event as status_event
from gpudx.evidence.logs._statuses import numbered, told, without_conditions

FORMAT = "check-failed"
GENERIC = 3  # errors that are named in such a line are read by their own formats
ANY_CASE = True
MARKS = ("check failed", "ret_check", "assert", "enforce", "expects(", "but got", "but found", "precondition", "requirement", "expecting:")
LONGEST = 160
# glog and its relatives print both values; faiss, RAFT, oneDNN and others quote the condition.
_COMPARED = re.compile(r"\bcheck failed:? *(?P<condition>.+?) *\((?P<left>[^()]{1,60}?) vs\.? (?P<right>[^()]{1,60}?)\)", re.IGNORECASE)
_CHECKED = re.compile(r"\bcheck failed:? *(?P<condition>\S.{0,200}?)(?: (?:is|was) false\b|(?<=\)) *:|: |$)", re.IGNORECASE)
# TensorFlow's and XLA's "RET_CHECK failure (file:line) condition".
_RETURNED = re.compile(r"\bRET_CHECK failure \([^()]{1,200}\) ?(?P<condition>.{0,200})")
_QUOTED = re.compile(r"\bassert(?:ion)?\w* *(?P<quote>['\"`])(?P<condition>.+?)['\"`] *(?:has )?fail", re.IGNORECASE)
_CALLED = re.compile(
    r"\b\w*(?:ASSERT|CHECK|ENFORCE|REQUIRE|VERIFY|EXPECT)\w* ?\((?P<condition>[^;]{1,200}?)\)(?:,? (?:has )?failed|: )", re.IGNORECASE
)
_STATED = re.compile(
    r"\b(?:assert(?:ion)?|enforce|precondition|requirement)(?: (?:check|error))? (?:failed|failure|not met"
    r"|violated)\W*(?P<condition>.{0,200})"
    r"|\bfailed (?:test )?assert(?:ion)?: *(?P<after>.{1,200})|\bAssertionError: (?P<python>.{1,200})",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:^|: )(?P<condition>[^:]{2,160}?) (?:(?:INTERNAL )?ASSERT FAILED at |assert fai)")
_INPUT = re.compile(r"(?:Error|Exception)\b[^:]{0,40}: +(?P<condition>[Ee]xpected .{3,120}?),? but (?:it )?(?:got|found|received|is|was)\b")
_RESULT = re.compile(r"cuda(?:Success|GetLastError|Error)|CUDA_SUCCESS|hip(?:Success|GetLastError)|CL_SUCCESS|_STATUS_SUCCESS|VK_SUCCESS"
                     r"|cudaError_t")
_BELOW = re.compile(r"\s*Expression: (.+)")
_HIP = re.compile(r"\bhip[A-Z]")
_NUMBER = re.compile(r"-?\d{1,6}")
_STATUS = re.compile(r"(?:cudaError_t|hipError_t) ?[=:] ?(\d{1,4})")
_PLACE = re.compile(r",? (?:at|in|file) \S+?(?:,? line |:)\d+.*$|,? file ?=.*$")
_CODE = re.compile(r"^-- |^\s*(?:assert|if|while|return)\b|[;{]\s*$|^\s*(?://|/\*|#define)")


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if _CODE.search(text):
        return
    patterns = (_RETURNED, _COMPARED, _INPUT, _QUOTED, _BEFORE, _CALLED, _STATED, _CHECKED)
    found = next((hit for hit in (pattern.search(text) for pattern in patterns) if hit), None)
    if found is None:
        return
    named = found.groupdict()
    condition = _PLACE.sub("", named.get("condition") or named.get("after") or named.get("python") or "").strip(" .-")[:LONGEST]
    if not condition:  # the dialog of Microsoft's C runtime has it below
        condition = next((hit[1].strip() for hit in map(_BELOW.match, near.after(8)) if hit), "")[:LONGEST]
    values = [named[side] for side in ("left", "right") if named.get(side)]
    where = source(text) or next(filter(None, map(source, near.before(1))), "")
    if _RESULT.search(condition):
        yield _returned(text, condition, values, where)
    else:
        yield _stopped(condition, values, where, text[found.end() :].strip(" :;.")[:LONGEST])


def _returned(text: str, condition: str, values: list[str], where: str) -> Event:
    """A GPU call did not return success."""
    printed = [found[1] for found in _STATUS.finditer(text)]
    numbers = [int(one) for one in (*values, *printed) if _NUMBER.fullmatch(one) and int(one)]
    api = "hip" if _HIP.search(condition) else "cuda"
    if "STATUS" not in condition and (status := told(without_conditions(text)) or (numbered(numbers[0]) if numbers else None)):
        return status_event(status, api, where)
    code = f" {numbers[0]}" if numbers else ""
    at = f" at {where}" if where else ""
    return Event(
        kind="call-failed",
        role="report",
        message=f"A GPU call returned an error{code}{at} (the check {condition} failed); the log shows where this was noticed, not which "
        "work caused it.",
        facts=(("at", where), ("condition", condition)),
        notes=("not proved: which call or launch failed",),
        causes=("device-error-reported",),
        next=_next.HIP_SERIALISE if api == "hip" else _next.SERIALISE,
        noticed=where,
        sure=False,
    )


def _stopped(condition: str, values: list[str], where: str, reason: str) -> Event:
    at = f" at {where}" if where else ""
    compared = f" ({values[0]} against {values[1]})" if len(values) == 2 else ""
    what = f": {condition}{compared}" if condition else ""
    return Event(
        kind="check-failed",
        role="ending",
        message=f"A check in the program failed{at}{what}.",
        facts=(("at", where), ("condition", condition)),
        notes=(f"it reports: {reason}",) if reason and reason not in condition else (),
        next=_next.RECORD,
        sure=False,
    )
