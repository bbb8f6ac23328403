"""PoCL's own messages (POCL_DEBUG): "POCL: in fn NAME at line N:" and "| ERROR | CL_... text" under it.

It reads lines of the level ERROR: why a call was refused, in more words than its status, and what failed inside PoCL: a kernel that was
not built, a device that did not start, an error of the driver below it. Of the other levels, only commands that failed are read. A refusal
that programs expect (information that does not exist) is reported as a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._sticky import sticky
from gpudx.evidence.logs.opencl_error import NAMES, STATUSES

FORMAT = "pocl"
MARKS = ("  ERROR |", "Unknown token in POCL_DEBUG", "Command FAILED, event", "incomplete implementation in")
_LINE = re.compile(r"\|\s*ERROR \|\s*(CL_\w+)?\s*(.*)")
_FUNCTION = re.compile(r"in fn (?:[\w:<>]+[ *&]+){0,4}(\w+)(?:\(.*?\))? at line (\d+)")
_COMMAND = re.compile(r"\| (\w[^|:]*): Command FAILED, event (\d+)")
_PARTS = re.compile(r"pocl warning: encountered incomplete implementation in (\S+)")
_SETTING = re.compile(r"Unknown token in POCL_DEBUG env var: (\S{1,60})")
_BUILD = re.compile(r"link|build|codegen|workgroup_function|compil|parallel\.?_?bc|bitcode|builtins", re.IGNORECASE)
_START = re.compile(r"initiali[sz]ation failed|could not (?:initiali[sz]e|find) .*device|Loading \S+ failed|no devices", re.IGNORECASE)
QUESTIONS = ("Get", "Info")


def read(near: Near) -> Iterator[Event]:
    if found := _COMMAND.search(near.text):
        said = f"A command on PoCL's device {found[1]} failed (event {found[2]}); the line does not say which, or why."
        yield Event("pocl-command-failed", "report", said, causes=("device-error-reported",), next=_next.RECORD, sure=False)
        return
    if found := _PARTS.search(near.text):
        said = f"PoCL used a part of itself that is not complete, at {found[1]}."
        yield Event("pocl-incomplete", "ending", said, (("at", found[1]),), warning=True)
        return
    if found := _SETTING.search(near.text):
        yield Event("pocl-setting", "ending", f"PoCL ignored a part of POCL_DEBUG that it does not know: {found[1]}.", warning=True)
        return
    match = _LINE.search(near.text)
    if match is None:
        return
    function = _FUNCTION.search(" ".join(near.before(1)))
    name = function[1].replace("POcl", "cl") if function else "a call"
    if match[1] is None and not name.startswith("cl"):
        yield _inside(name, match[2].strip()[:200].rstrip(".!"))
        return
    means = STATUSES[NAMES[match[1]]][1] if match[1] in NAMES else match[2].strip() or "no reason given"
    cause = STATUSES[NAMES[match[1]]][2] if match[1] in NAMES else ""
    said = f": {match[2].strip()}" if match[1] in NAMES and match[2].strip() else ""
    why = f"{means}{said[:200]}".rstrip(".!")
    yield Event(
        kind="pocl-refusal",
        role="refusal",
        message=f"PoCL refused {name} ({match[1] or 'no status'}): {why}.",
        facts=(("call", name), ("status", match[1] or "")),
        causes=(cause,) if cause else (),
        next=_next.RECORD,
        warning=any(word in name for word in QUESTIONS),
    )


def _inside(function: str, why: str) -> Event:
    """A failure inside PoCL: no call was refused for what it was passed."""
    where = f" (in {function})" if function != "a call" else ""
    facts = (("function", function), ("said", re.sub(r"\d+", "#", why)[:80]))
    if sticky(why):
        said = f"The driver under PoCL reported an error of earlier work{where}: {why}."
        return Event("pocl-driver-error", "report", said, facts, causes=("device-error-reported",), next=_next.RECORD, sure=False)
    if _START.search(why):
        return Event("no-device", "refusal", f"PoCL could not start a device{where}: {why}.", facts, next=_next.DOCTOR)
    if _BUILD.search(f"{function} {why}"):
        said = f"PoCL did not build a kernel{where}: {why}."
        return Event("build-failed", "refusal", said, facts, causes=("failed-call",), next=_next.RECORD, sure=False)
    return Event("pocl-error", "refusal", f"PoCL failed{where}: {why}.", facts, causes=("failed-call",), next=_next.RECORD, sure=False)
