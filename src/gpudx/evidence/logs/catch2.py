"""Catch2: tests that failed, with the check and its line, exceptions and signals.

The check is where the test noticed. An exception that carries an error of the device is read by the format of that error; a
signal also stops the tests behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event as status_event
from gpudx.evidence.logs._statuses import numbered

FORMAT = "catch2"
MARKS = (": FAILED:",)
_FAILED = re.compile(r"^(\S+?)(?::(\d+)|\((\d+)\)): FAILED:")
# A status that is not that of success: the call, and its value as a number.
_COMPARED = re.compile(r"\( ?(\w+)\(.*?\) == (cuda|hip|CUDA_|HIP_)(?i:success) \) with expansion: \(?([1-9]\d{0,4})\)? ==")
_RULE = re.compile(r"^-{60,}$")
_SIGNAL = re.compile(r"\b(SIG[A-Z]+) - ")
BEFORE, AFTER = 30, 6


def read(near: Near) -> Iterator[Event]:
    found = _FAILED.search(near.text)
    if found is None:
        return
    at = source(f"{found[1]}:{found[2] or found[3]}") or found[1]
    name, below = _name(near.before(BEFORE)), [line.strip() for line in near.after(AFTER)]
    said = f"The test {name} failed at {at}" if name else f"A test failed at {at}"
    if any(line.startswith("due to a fatal error") for line in below[:2]):
        signal = next((hit[1] for hit in map(_SIGNAL.search, below) if hit), "a signal")
        text = f"{said}: {signal} ended the process, and the tests after it were not run."
        yield Event(
            "test-process-died",
            "ending",
            text,
            (("name", name), ("at", at)),
            causes=("crash-outside-calls",),
            next=_next.RECORD,
        )
        return
    why = _why(below)
    yield Event("test-failed", "ending", f"{said}{why}.", (("name", name), ("at", at)), next=_next.RECORD)
    text = " ".join(below)
    compared = _COMPARED.search(text)
    if compared and (status := numbered(int(compared[3]))):
        yield status_event(status, "hip" if compared[2] == "hip" else "cuda", compared[1])


def _name(above: list[str]) -> str:
    """The test's name stands between the last two rules above."""
    rules = [at for at, line in enumerate(above) if _RULE.match(line.strip())]
    return " / ".join(line.strip() for line in reversed(above[rules[0] + 1 : rules[1]]))[:120] if len(rules) > 1 else ""


def _why(below: list[str]) -> str:
    if not below:
        return ""
    if "exception" in below[0]:
        return " with an exception"
    values = next((below[at + 1] for at, line in enumerate(below[:-1]) if line == "with expansion:"), "")
    return f": {below[0][:120]}{f', with {values[:80]}' if values else ''}".replace(". ", ", ")
