"""What does not end, where breadcrumbs tell: the launch at which a stream stands, and what waits behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.crumbs import Front
from gpudx.facts.launch_rules import more_than_fit
from gpudx.facts.objects import FAMILIES
from gpudx.facts.order.waits import DEFAULT_QUEUES
from gpudx.model import Evidence
from gpudx.text import plural, several

I64 = NDArray[np.int64]
SHOWN = 8
MOST_ARGUMENTS = 8
OF_HOST = [FAMILIES.index(name) for name in ("host", "registered", "managed")]  # families of memory that host and kernels use at once


def stuck_fronts(facts: Facts) -> list[Front]:
    """Streams whose work had not ended, without what a successful wait covers; the oldest work first.

    Where some certainly stand, those that may be done are left out.
    """
    found = []
    for front in facts.crumbs.fronts:
        running = np.array(front.running, np.int64)
        queues = np.full(len(running), front.queue, np.uint64)
        left = running[facts.order.open(running, queues, len(facts.trace))]
        left = left[[not _has_returned(facts, int(p)) for p in left]] if len(left) else left
        if len(left):
            found.append(replace(front, running=tuple(map(int, left))))
    return [front for front in found if front.certain] or found


def _has_returned(facts: Facts, position: int) -> bool:
    """Is it a copy or map that returns only when it is done, and that has returned?"""
    returned = bool(facts.trace.column("end", np.array([position]))[0])
    return returned and is_wait(facts, position)


def waiting_for_none(facts: Facts, fronts: list[Front]) -> list[Front]:
    """The streams that do not wait for another one of these; all where each does."""
    roots = [one for one in fronts if not any(_may_wait_for(facts, one, other) for other in fronts if other is not one)]
    return roots or fronts


def _may_wait_for(facts: Facts, one: Front, other: Front) -> bool:
    """Does a stream wait for an event or a value, or do the two synchronise by themselves and the other's work is older?"""
    if _waits_for_event(facts, one) or (len(one.running) == 1 and one.running[0] in held_graphs(facts, [one, other])):
        return True
    default = one.queue in DEFAULT_QUEUES or other.queue in DEFAULT_QUEUES
    return default and one.queue != other.queue and other.running[0] < one.running[0]


def held_graphs(facts: Facts, fronts: Sequence[Front]) -> set[int]:
    """Launches of graphs at which a stream stands only because an earlier launch of the same graph has not ended in another one: a
    graph never runs twice at once (CUDA C++ Programming Guide, "Graph Launch")."""
    graphs = facts.graphs
    exec_of = dict(zip(map(int, graphs.position), map(int, graphs.exec), strict=True))
    unfinished = [(p, front.queue) for front in fronts for p in (*front.running, *front.waiting) if p in exec_of]
    return {
        p
        for front in fronts
        for p in front.running
        if any(q < p and queue != front.queue and exec_of[q] == exec_of.get(p) for q, queue in unfinished)
    }


def _waits_for_event(facts: Facts, front: Front) -> bool:
    return held_by(facts, front) is not None


def held_by(facts: Facts, front: Front) -> int | None:
    """The wait for an event or a value in the stream between its last work that ended and what may be running: until that wait is
    over, nothing behind it has begun."""
    trace = facts.trace
    calls = tuple(c for c in trace.schema.doing("queue_wait") if c.word("queue") is not None)
    waits = trace.select(calls)
    mine = waits[_queues(facts, waits) == np.uint64(front.queue)]
    work = facts.crumbs.work
    ended = work[(_queues(facts, work) == np.uint64(front.queue)) & (work < front.running[0])]
    since = int(ended[-1]) if len(ended) else -1
    hits = mine[(mine > since) & (mine < front.running[-1])]
    return int(hits[-1]) if len(hits) else None


def _queues(facts: Facts, positions: I64) -> NDArray[np.uint64]:
    found = np.zeros(len(positions), np.uint64)
    for at, position in enumerate(positions.tolist()):
        found[at] = facts.trace.record(position).get("queue", 0)
    return found


def work_name(facts: Facts, position: int) -> str:
    """ "launch 7 of kernel spin (call 31)", "the graph of kernels scale and spin (call 31)", or the name of another call."""
    row = facts.launches.at_position(position)
    name = facts.trace.info(position).name
    what = f"launch {row + 1} of kernel {facts.launches.name(row)}" if row is not None else _graph_name(facts, position) or name
    return f"{what} (call {position + 1})"


def _graph_name(facts: Facts, position: int) -> str:
    """A graph by its kernels; "" for other calls, and for a graph whose kernels are not known."""
    rows = np.flatnonzero(facts.graphs.position == position)
    version = facts.graphs.version(int(rows[0])) if len(rows) else None
    kernels = dict.fromkeys(facts.kernels.name(n.kernel_row) for n in version.nodes if n.kind == "kernel") if version else {}
    return f"the graph of kernel{'s' * (len(kernels) > 1)} {several(list(kernels))}" if kernels else ""


def stream_name(facts: Facts, front: Front) -> str:
    """ "queue #1", as other sentences name it; the handle where its creation was not recorded."""
    row = int(facts.objects.at(np.array([front.queue], np.uint64), np.array([front.running[0]], np.int64))[0])
    word = "stream" if front.context else "queue"  # OpenCL's have no context of their own
    if row >= 0:
        return f"{word} #{int(facts.objects.table['number'][row])}"
    if not front.context:
        return f"queue {front.queue:#x}"
    names = {0: "the default stream", 1: "the default stream", 2: f"the default stream of thread {front.tid}"}
    return names.get(front.queue, f"stream {front.queue:#x}")


def described(facts: Facts, front: Front) -> Iterator[Evidence]:
    """The facts of one stream that stands still."""
    first = front.running[0]
    names = [work_name(facts, p) for p in front.running]
    numbers = tuple(p + 1 for p in front.running[:SHOWN])
    if len(names) == 1:
        yield Evidence(f"{names[0]} in {stream_name(facts, front)} has not ended", numbers)
        yield from launch_facts(facts, first)
    else:
        yield Evidence(
            f"one of {len(names)} calls in {stream_name(facts, front)} has not ended: {several(names, SHOWN)}", numbers
        )
    if front.waiting:
        behind = work_name(facts, front.waiting[0])
        wait = "waits" if len(front.waiting) == 1 else "wait"
        text = f"{plural(len(front.waiting), 'call')} of the stream {wait} behind it, the first is {behind}"
        yield Evidence(text, tuple(p + 1 for p in front.waiting[:SHOWN]))


@dataclass(frozen=True)
class Suspicion:
    """What a launch that does not end may wait for, as far as its numbers show: a fact, and what to do about it if it is that."""

    text: str
    step: str


def is_wait(facts: Facts, position: int) -> bool:
    """Does this call return only when the device is done?"""
    return facts.trace.info(position).does == "wait" or bool(facts.trace.record(position).get("blocking"))


def suspicions(facts: Facts, position: int) -> Iterator[Suspicion]:
    """Of a launch in the background of whatever the host was doing when the record ends."""
    wait = next((p for p in map(int, facts.in_flight) if is_wait(facts, p)), None)
    row = facts.launches.at_position(position)
    if row is None:
        return
    kernel = facts.launches.name(row)
    if waiting := more_than_fit(facts, row):
        yield Suspicion(
            f"{waiting.blocks:,} blocks, at most {waiting.fit:,} can be on the device at once: a block that waits for one that has not "
            "started waits forever",
            f"If blocks of {kernel} wait for each other, launch at most {waiting.fit:,} of them, in a cooperative launch, which is "
            "refused where they do not all fit.",
        )
    if wait is not None and (argument := _of_host(facts, row)) is not None:
        index, memory = argument
        label, call = facts.objects.label(memory), facts.sites.at(wait)
        yield Suspicion(
            f"{label} (argument {index}) is host memory, which the host can change while {kernel} runs; its thread is in {call.call} "
            f"(call {call.number}) instead",
            f"If {kernel} waits for the host to write {label}, write it before {call.call} (call {call.number}).",
        )


def _of_host(facts: Facts, row: int) -> tuple[int, int] | None:
    """(argument, memory) of an argument in memory that host and kernels use at once, or with an address of it."""
    pointers = facts.launches.pointers
    for at in pointers.of(row):
        memory = int(pointers.object[at])
        if memory >= 0 and bool(pointers.live[at]) and int(facts.objects.table["family"][memory]) in OF_HOST:
            return int(pointers.index[at]), memory
    return None


def launch_facts(facts: Facts, position: int) -> Iterator[Evidence]:
    """Grid, arguments and host line of a launch."""
    row = facts.launches.at_position(position)
    if row is None:
        return
    grid, block = facts.launches.grid(row)
    if any(grid):
        yield Evidence(f"grid {_shape(grid)}, block {_shape(block)}", (position + 1,))
    else:
        items, group = facts.launches.geometry(row)
        count = _shape(items) or "0"
        groups = f" in groups of {_shape(group)}" if any(group) else "; the driver chose the group size"
        yield Evidence(f"{count} work-item{'s' * (count != '1')}{groups}", (position + 1,))
    if values := [_value(facts, one) for one in facts.launches.values(row)[:MOST_ARGUMENTS]]:
        yield Evidence(f"arguments: {'; '.join(values)}", (position + 1,))
    site = facts.sites.at(position)
    if site.source:
        yield Evidence(f"launched at {site.source}", (position + 1,))


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n:,}" for n in shape if n)


def _value(facts: Facts, one: dict[str, object]) -> str:
    declared, data, row = one["declared"], one["bytes"], one["object"]
    name = getattr(declared, "name", "") or f"argument {one['index']}"
    assert isinstance(data, bytes) and isinstance(row, int)
    if row >= 0:
        return f"{name} = {facts.objects.label(row)}"
    number = int.from_bytes(data[:8], "little")
    return f"{name} = {number:#x}" if number > 1 << 32 else f"{name} = {number}"
