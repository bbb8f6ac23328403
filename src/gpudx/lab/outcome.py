"""How a run ended, in the words of the case."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

from gpudx.lab.recorded import RunResult
from gpudx.model import Outcome
from gpudx.text import duration

NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?", re.I)
LONGEST, LAST_BYTES = 160, 4096
COMPLAINT = re.compile(r"(?i)error|fail|cannot|can't|could not|no such|invalid|mismatch|wrong|bad|unexpected|expected|abort|assert|missing")


def outcome(run: RunResult, fault_address: str | None = None) -> Outcome:
    """The Outcome of a run; the fault address comes from the trace."""
    ended = _ended(run, fault_address)
    return replace(ended, said=_last_line(run.how.output)) if ended.failed else ended


def _last_line(output: Path | None) -> str:
    """Of what the program printed, if that was kept."""
    if output is None:
        return ""
    try:
        with output.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LAST_BYTES, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    latest = [line.strip()[:LONGEST] for line in reversed(lines) if line.strip()]
    complaints = [line for line in latest if COMPLAINT.search(line)]  # what it prints to a buffer may come behind a complaint
    shapes = Counter(NUMBER.sub("#", line) for line in complaints)
    alone = [line for line in complaints if shapes[NUMBER.sub("#", line)] == 1]  # a summary, not one of many such lines
    return next(iter((*alone, *complaints, *latest)), "")


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
    if run.wrong:
        return Outcome(
            "exit", f"The program exited with status 0 {after}, but {run.wrong}.", 0, duration_s=run.duration_s
        )
    return Outcome("passed", f"The program ended normally {after}.", 0, duration_s=run.duration_s)


def _timeout_text(run: RunResult, after: str) -> str:
    if run.returncode is None:
        return f"The program had not ended {after}, and not even SIGKILL ended it: it is stuck inside the operating system's kernel."
    return f"The program had not ended {after} and was stopped."
