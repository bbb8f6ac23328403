"""How a run ended, in the words of the case."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from gpudx.lab.recorded import RunResult
from gpudx.model import Outcome
from gpudx.text import duration
from gpudx.text.places import is_installed

# By clang, in a driver: also of a build that is meant to fail.
COUNTED = re.compile(r"\d+ (?:error|warning)s?(?: and \d+ errors?)? generated\.")
EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception|Exit|Interrupt|Warning)\b")
NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?", re.I)
LONGEST, LAST_BYTES = 160, 4096
COMPLAINT = re.compile(
    r"(?i)error|fail|cannot|can't|could not|no such|invalid|mismatch|wrong|\bbad\b|expected|abort|assert|missing|regress|exceed|differ|"
    r"\btoo \w|\bnot (?:found|reached|match|allowed|enough|equal)|refuse|denied|unknown|required"
)


def outcome(run: RunResult, fault_address: str | None = None) -> Outcome:
    """The Outcome of a run; the fault address comes from the trace."""
    ended = _ended(run, fault_address)
    return replace(ended, said=_last_line(run)) if ended.failed else ended


def _last_line(run: RunResult) -> str:
    """Of what the program printed, if that was kept: its last complaint, else the last line that it wrote to stderr, else to stdout."""
    if run.how.output is None:
        return ""
    try:
        with run.how.output.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            errors, printed = _latest(file, run.errors_at, size), _latest(file, 0, run.errors_at or size)
    except OSError:
        return ""
    complaints = (_complaint(lines) for lines in (errors, printed))
    return next(filter(None, complaints), next(iter([*errors, *printed]), ""))


# What ends a traceback of Python names the exception, its frames the lines; libstdc++ writes the text of an exception on a line of its own.
FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)')
TERMINATE = re.compile(r"terminate called after throwing an instance of '(?P<type>.+)'")
WHAT = re.compile(r"what\(\):\s+(?P<text>.+)")


def _complaint(latest: Sequence[str]) -> str:
    """The last line that complains, with the rest of what belongs to it; a summary rather than one of many such lines."""
    complaints = [number for number, line in enumerate(latest) if COMPLAINT.search(line)]
    if not complaints:
        return ""
    at, said = complaints[0], latest[complaints[0]]
    if (thrown := TERMINATE.fullmatch(said)) and at and (what := WHAT.fullmatch(latest[at - 1])):
        return f"{thrown['type']}: {what['text']}"
    if not EXCEPTION.match(said):
        return _summary([latest[number] for number in complaints])
    frames = [found for line in latest[at + 1 :] if (found := FRAME.match(line))]
    own = next((one for one in frames if not is_installed(one["path"]) and not one["path"].startswith("<")), None)
    return f"{said} ({os.path.basename(own['path'])}:{own['line']})" if own else said


def _summary(complaints: Sequence[str]) -> str:
    """The first one that is like no other but for its numbers; else the first."""
    shapes = [NUMBER.sub("#", line) for line in complaints]
    count = Counter(shapes)
    return next((line for line, shape in zip(complaints, shapes, strict=True) if count[shape] == 1), complaints[0])


def _latest(file: BinaryIO, begin: int, end: int) -> list[str]:
    """The last lines of a part of a file, the last one first."""
    first = file.seek(max(begin, end - LAST_BYTES))
    lines = file.read(end - file.tell()).decode("utf-8", "replace").splitlines()
    whole = lines[1:] if first > begin and len(lines) > 1 else lines
    return [line.strip()[:LONGEST] for line in reversed(whole) if line.strip() and not COUNTED.fullmatch(line.strip())]


def _ended(run: RunResult, fault_address: str | None) -> Outcome:
    after = f"after {duration(run.duration_s)}"
    if not run.started:
        text = f"The program was not started: the tool that should start it ended {after}."
        return Outcome("not started", text, duration_s=run.duration_s)
    if run.ended_early:
        return Outcome(
            "signal", f"gpudx ended the program {after}: the tool had reported its faults.", duration_s=run.duration_s
        )
    if run.timed_out:
        return Outcome("timeout", _timeout_text(run, after), signal=run.signal, duration_s=run.duration_s)
    code = run.returncode
    if code is not None and code < 0:
        what = signal.strsignal(-code) or "unknown signal"
        text = f"The program was killed by {run.signal} ({what.lower()}) {after}."
        return Outcome("signal", text, None, run.signal, fault_address, run.duration_s)
    if code:
        return Outcome("exit", f"The program exited with status {code} {after}.", code, duration_s=run.duration_s)
    wrong = run.wrong or (f'it printed "{run.complaint}"' if run.complaint else "")
    if wrong:
        text = f"The program exited with status 0 {after}, but {wrong}."
        return Outcome("exit", text, 0, duration_s=run.duration_s, complaint=run.complaint)
    return Outcome("passed", f"The program ended normally {after}.", 0, duration_s=run.duration_s)


def _timeout_text(run: RunResult, after: str) -> str:
    if run.returncode is None:
        return f"The program had not ended {after}, and not even SIGKILL ended it: it is stuck inside the operating system's kernel."
    return f"The program had not ended {after} and was stopped."
