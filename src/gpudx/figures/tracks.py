"""What a case's processes did over time, as plain columns: for formats that show more than the case itself holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts, derive
from gpudx.facts.objects import HOST_FAMILIES, MEMORY, NEVER
from gpudx.facts.operations import field_of, has_field
from gpudx.facts.queues import Queues
from gpudx.model import Case
from gpudx.report.perfetto import Mark, Slices, Timeline
from gpudx.trace import Trace, open_case

I64 = NDArray[np.int64]
# What a call does that puts something into a queue (schema/events.toml).
SUBMITS = ("launch", "copy", "fill", "map", "unmap", "marker", "barrier", "native_kernel", "migrate", "launch_graph")


def timelines(case: Case, place: Path) -> Iterator[Timeline]:
    """One for each process, oldest first. Times count from the first call of the first process."""
    traces = open_case(place) if (place / "traces").is_dir() else []
    start = min((int(trace.header["start_mono_ns"]) for trace in traces), default=0)
    for trace in traces:
        yield _timeline(case, derive(trace), int(trace.header["start_mono_ns"]) - start)


def _timeline(case: Case, facts: Facts, offset: int) -> Timeline:
    trace = facts.trace
    positions = np.flatnonzero(~trace.is_note)
    begin, end = _ns(trace, "begin", positions, offset), _ns(trace, "end", positions, offset)
    threads, lane = np.unique(trace.column("tid", positions), return_inverse=True)
    names, name = _names(facts, positions)
    calls = Slices(lane.reshape(-1).astype(np.int64), begin, end, name, positions + 1)
    queues, submitted = _submitted(facts, calls, positions)
    held_at, held = _held(facts, offset)
    return Timeline(
        pid=trace.pid,
        command=" ".join(trace.argv) or trace.exe,
        names=names,
        threads=threads.tolist(),
        queues=queues,
        calls=calls,
        submitted=submitted,
        held_at=held_at,
        held=held,
        marks=[*_faults(case, trace, threads, offset), *_last_words(trace, threads, offset)],
    )


def _ns(trace: Trace, column: str, positions: I64, offset: int) -> I64:
    """Times in ns; -1 for what has not come."""
    ticks = trace.column(column, positions)
    times = (trace.seconds(ticks) * 1e9).astype(np.int64) + offset
    return np.where(ticks == 0, -1, np.maximum(times, 0))


def _names(facts: Facts, positions: I64) -> tuple[list[str], I64]:
    """Texts, and which of them each call has: that of the function, and of a launch its kernel's too."""
    trace, launches = facts.trace, facts.launches
    kernel = np.full(len(trace), -1, np.int64)  # by function: a program may make a kernel object for each launch
    known = launches.kernel_row >= 0
    kernel[launches.position[known]] = facts.kernels.functions(launches.kernel_row[known])
    codes = trace.call[positions].astype(np.int64) << 32 | (kernel[positions] + 1)
    _, first, name = np.unique(codes, return_index=True, return_inverse=True)
    return [_name(facts, int(position)) for position in positions[first]], name.reshape(-1).astype(np.int64)


def _name(facts: Facts, position: int) -> str:
    name, launch = facts.trace.info(position).name, facts.launches.at_position(position)
    return f"{name} {facts.launches.name(launch)}" if launch is not None else name


def _submitted(facts: Facts, calls: Slices, positions: I64) -> tuple[list[str], Slices]:
    """Calls that put something into a queue, by queue; each ends at the latest where the next one begins."""
    trace = facts.trace
    submits = np.array([c.does in SUBMITS for c in trace.schema.calls], bool)[trace.call[positions]]
    at = np.flatnonzero(submits & has_field(trace, "queue", positions))
    queues = Queues(trace, facts.objects, field_of(trace, "queue", positions[at]), positions[at])
    begin, end = calls.begin[at], calls.end[at].copy()
    for queue in range(len(queues)):
        mine = np.flatnonzero(queues.number == queue)
        own, following = end[mine[:-1]], begin[mine[1:]]
        end[mine[:-1]] = np.where(own < 0, following, np.minimum(own, following))
    labels = [queues.label(number) for number in range(len(queues))]
    return labels, Slices(queues.number.astype(np.int64), begin, end, calls.name[at], calls.number[at])


def _held(facts: Facts, offset: int) -> tuple[I64, I64]:
    """When the memory that the program holds changed, and how many bytes it was then."""
    objects = facts.objects
    rows = objects.rows_of(*MEMORY, "svm", "memory")
    own = [int(r) for r in rows if objects.table["parent"][r] < 0 and objects.family(int(r)) not in HOST_FAMILIES]
    table = objects.table[own]
    ended = table["died"] < NEVER
    at = np.concatenate([table["born"], table["died"][ended]]).astype(np.int64)
    change = np.concatenate([table["size"].astype(np.int64), -table["size"][ended].astype(np.int64)])
    known = (at >= 0) & (at < len(facts.trace))
    order = np.argsort(at[known], kind="stable")
    return _ns(facts.trace, "begin", at[known][order], offset), np.cumsum(change[known][order])


def _faults(case: Case, trace: Trace, threads: NDArray[np.uint32], offset: int) -> Iterator[Mark]:
    """The errors of this process, at the calls that made them."""
    for finding in case.findings:
        site = finding.site
        if finding.severity == "error" and site and site.pid == trace.pid and 0 < site.number <= len(trace):
            at = np.array([site.number - 1])
            time = int(_ns(trace, "begin", at, offset)[0])
            yield Mark(_thread(threads, int(trace.column("tid", at)[0])), time, f"{finding.id}: {finding.message}")


def _last_words(trace: Trace, threads: NDArray[np.uint32], offset: int) -> Iterator[Mark]:
    words = trace.last_words
    if words:
        time = max(int(words.time_s * 1e9) + offset, 0)
        at = f" at address {words.address:#x}" if words.fault_address is not None else ""
        yield Mark(_thread(threads, words.tid), time, f"signal {words.signal}{at}")


def _thread(threads: NDArray[np.uint32], tid: int) -> int:
    found = np.flatnonzero(threads == tid)
    return int(found[0]) if len(found) else -1
