"""The recorded processes of a run: how complete each record is, and how and when each process ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.collectives import rank_of
from gpudx.lab.recorded import RunResult
from gpudx.lab.roll import RollKind
from gpudx.model import ProcessInfo
from gpudx.text import signal_name
from gpudx.trace import Trace


def processes_of(run: RunResult, facts: Sequence[Facts], case_dir: Path) -> tuple[ProcessInfo, ...]:
    """In the order in which they began."""
    start = min((int(one.trace.header["start_mono_ns"]) for one in facts), default=0)
    return tuple(_process(run, one, case_dir, start) for one in facts)


def _process(run: RunResult, facts: Facts, case_dir: Path, start: int) -> ProcessInfo:
    trace, words = facts.trace, facts.trace.last_words
    exits = [one for one in run.roll if one.kind == RollKind.ENDED and one.pid == trace.pid]
    at = (exits[-1].time_ns - start) / 1e9 if exits else _last_seen(trace, start)
    killed = _killed(run, facts)
    return ProcessInfo(
        pid=trace.pid,
        ppid=trace.ppid,
        command=" ".join(trace.argv) or trace.exe,
        trace=str(trace.path.relative_to(case_dir)) if trace.path.is_relative_to(case_dir) else str(trace.path),
        calls=trace.count,
        launches=len(facts.launches),
        gaps=tuple(g.text for g in trace.gaps),
        ended=_ended(trace),
        ended_at=None if killed else at,
        signal=signal_name(words.signal) if words else killed,
        status=exits[-1].status if exits and not words else None,
        rank=rank_of(trace) or run.ranks.get(trace.pid, ""),
    )


def _ended(trace: Trace) -> str:
    if trace.last_words:
        return f"signal {trace.last_words.signal}"
    return "reached its exit handlers" if trace.ended else "ended without exit handlers"


def _last_seen(trace: Trace, start: int) -> float:
    """Seconds from the start of the run to its last words, or to the end of its last call."""
    own = (int(trace.header["start_mono_ns"]) - start) / 1e9
    if trace.last_words:
        return own + trace.last_words.time_s
    ends = trace.column("end")
    return own + (float(trace.seconds(np.array([ends.max()]))[0]) if len(ends) and ends.max() else 0.0)


def _killed(run: RunResult, facts: Facts) -> str:
    """How it was killed, where it left no words: by the signal that ended the program; of other processes it is only known that
    they ended inside a call, as after SIGTERM or SIGKILL."""
    if facts.trace.last_words or facts.trace.ended:
        return ""
    if facts.trace.pid == run.pid:
        return run.signal or ""
    return "killed inside a call" if len(facts.in_flight) else ""
