"""Limits the errors that the sanitizer reports, in a run that it checked to the end.

Needs a case of `gpudx run --sanitize`, or of a log of the tool, in which the tool printed its own summary. A tool that was missing,
stopped early or checked only one kernel is no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.gates._judged import Judged, missing, whole_number
from gpudx.model import Case, Finding
from gpudx.text import plural

KEY = "sanitizer-errors"
EXAMPLE = "0"
TOOL, FINDING = "compute-sanitizer", "sanitizer-"
CLEAN = "sanitizer-clean"
UNFINISHED = ("sanitizer-did-not-run", "sanitizer-cut-off", "sanitizer-incomplete")
HOW = "make a case with `gpudx run --sanitize -- ./app`"


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    most = whole_number(KEY, limit)
    found = [one for case in cases for one in case.findings if one.id.startswith(FINDING)]
    errors = sum(one.count for one in found if one.severity == "error")
    if errors > most:
        first = next(one for one in found if one.severity == "error")
        return Judged(KEY, False, f"{plural(errors, 'error')}, {most:,} allowed; the first: {first.message}")
    why = _why_not(cases, found)
    if why:
        return missing(KEY, f"{why}: {HOW}.")
    return Judged(KEY, True, f"{plural(errors, 'error')} ({most:,} allowed).")


def _why_not(cases: Sequence[Case], found: list[Finding]) -> str:
    """Why there is no proof that the tool ran to its end; "" where there is."""
    tools = [one for case in cases for one in case.instruments if one.name.startswith(TOOL)]
    if any(one.state != "live" or one.blind for one in tools) or any(one.id in UNFINISHED for one in found):
        return "the sanitizer did not check everything"
    finished = any(one.id == CLEAN or one.severity == "error" for one in found)
    return "" if tools or finished else "no sanitizer has run"
