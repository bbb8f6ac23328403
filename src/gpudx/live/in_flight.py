"""What a recorded process is doing right now, read from its trace while it runs. Nothing in the process changes: its trace file is
read, and cells that lie in shared memory are copied into that file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors.hang import detect
from gpudx.errors import UserError
from gpudx.facts import Facts, derive
from gpudx.facts.stuck import described, stream_name, stuck_fronts, work_name
from gpudx.lab.crumbs import refresh
from gpudx.model import Finding, Outcome
from gpudx.text import plural
from gpudx.trace import Trace, open_trace

WAITING = ("wait", "copy", "map")
MOST_FRAMES = 12


@dataclass(frozen=True)
class OpenCall:
    """A call of the program that has not returned."""

    tid: int
    call: str
    number: int
    seconds: float
    source: str | None
    stack: tuple[str, ...]


@dataclass(frozen=True)
class Stream:
    """A stream whose work has not ended."""

    name: str
    context: int
    running: tuple[str, ...]
    waiting: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class InFlight:
    """One process as it is now. `unknown`: what the record cannot tell, and why."""

    pid: int
    command: str
    launches: int
    calls: tuple[OpenCall, ...]
    streams: tuple[Stream, ...]
    unknown: tuple[str, ...]


def newest(trace_dir: Path, pid: int) -> Trace:
    """The trace of a process, with its crumbs as they are now."""
    found = sorted(trace_dir.glob(f"{pid}-*.gdx"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise UserError(f"Process {pid} is recorded but has made no GPU call yet: try again later.")
    refresh(open_trace(found[-1]))
    return open_trace(found[-1])


def look(trace: Trace) -> InFlight:
    """What is in flight by a trace that was just read."""
    facts = derive(trace)
    return InFlight(
        pid=trace.pid,
        command=" ".join(trace.argv) or trace.exe,
        launches=len(facts.launches),
        calls=tuple(_open(facts)),
        streams=tuple(_streams(facts)),
        unknown=tuple(_unknown(facts)),
    )


def seconds_in(facts: Facts, position: int) -> float:
    """How long a call that has not returned has been running."""
    began = float(facts.trace.seconds(facts.trace.column("begin", np.array([position])))[0])
    return max(time.monotonic() - int(facts.trace.header["start_mono_ns"]) / 1e9 - began, 0.0)


def longest_wait(facts: Facts) -> float:
    """Seconds since which the host waits for the device in some call; 0 if it does not."""
    waits = [int(p) for p in facts.in_flight if facts.trace.info(int(p)).does in WAITING]
    return max((seconds_in(facts, p) for p in waits), default=0.0)


def hang(facts: Facts) -> Finding | None:
    """What would be said of the process if it were stopped now."""
    since = time.monotonic() - int(facts.trace.header["start_mono_ns"]) / 1e9
    return next(detect(facts, Run(Outcome("timeout", "", duration_s=since))), None)


def _open(facts: Facts) -> Iterator[OpenCall]:
    for position in map(int, facts.in_flight):
        site = facts.sites.at(position)
        seconds = seconds_in(facts, position)
        yield OpenCall(site.tid, site.call, site.number, seconds, site.source, site.host_stack[:MOST_FRAMES])


def _streams(facts: Facts) -> Iterator[Stream]:
    for front in stuck_fronts(facts):
        yield Stream(
            stream_name(facts, front),
            front.context,
            tuple(work_name(facts, p) for p in front.running),
            tuple(work_name(facts, p) for p in front.waiting),
            tuple(e.text for e in described(facts, front)),
        )


def _unknown(facts: Facts) -> Iterator[str]:
    yield from (f"no breadcrumbs: {why}" for why in facts.crumbs.why_not)
    if not facts.crumbs.rows and len(facts.launches) and not facts.crumbs.why_not:
        yield "no breadcrumbs were recorded: it is not known which of the queued launches have completed"


def lines(now: InFlight) -> list[str]:
    """For people."""
    out = [f"process {now.pid}: {now.command}", f"  {plural(now.launches, 'launch', 'launches')} recorded"]
    if not now.streams:
        out.append("  no launch is known to be running")
    for one in now.streams:
        out += [f"  {one.name} (context {one.context}):", *(f"    {text}" for text in one.facts)]
    for call in now.calls:
        where = f" at {call.source}" if call.source else ""
        out.append(f"  thread {call.tid} has been in {call.call} (call {call.number}){where} for {call.seconds:.1f} s")
        out += [f"    {frame}" for frame in call.stack]
    return [*out, *(f"  not known: {text}" for text in now.unknown)]
