"""PoCL's own messages (POCL_DEBUG): "POCL: in fn NAME at line N:" and "| ERROR | CL_... text" under it.

It reads lines of the level ERROR, which say why a call was refused, in more words than its status. Other levels are ignored. A
refusal that programs expect (information that does not exist) is reported as a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.opencl_error import NAMES, STATUSES

FORMAT = "pocl"
MARKS = ("  ERROR |",)
_LINE = re.compile(r"\|\s*ERROR \|\s*(CL_\w+)?\s*(.*)")
_FUNCTION = re.compile(r"in fn (\w+) at line (\d+)")
QUESTIONS = ("Get", "Info")


def read(near: Near) -> Iterator[Event]:
    match = _LINE.search(near.text)
    if match is None:
        return
    function = _FUNCTION.search(" ".join(near.before(1)))
    name = function[1].replace("POcl", "cl") if function else "a call"
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
