"""A host function of one stream was passed memory that another stream copies, and nothing orders the two.

A function that cudaLaunchHostFunc puts into a stream runs when the stream reaches it, in a thread of the driver. Other streams
do not wait for it. A copy in another stream from the memory that the function fills may run first and copy what was there
before.

Example:

    cudaLaunchHostFunc(prepare, fill_tokens, tokens);
    cudaMemcpyAsync(device, tokens, bytes, cudaMemcpyHostToDevice, upload);

Fix it with an event between them, or with both in one stream:

    cudaEventRecord(done, prepare);
    cudaStreamWaitEvent(upload, done);

Only pointers that are passed to the function itself are seen, not those in a structure. What the function does with the memory
is not recorded, and it may wake a thread that waits for it, so this is a warning; `gpudx investigate` orders the two and checks
whether the failure is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES
from gpudx.facts.operations import field_of, has_field
from gpudx.facts.order.waits import DEFAULT_QUEUES
from gpudx.model import Evidence, Finding, OrderPair

ID = "host-function-unordered"
NEEDS_EVERY_CALL = True
I64 = NDArray[np.int64]
HOSTS = [FAMILIES.index(family) for family in HOST_FAMILIES]
MOST_FUNCTIONS = 1000


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per pair of callers; repeats are counted."""
    found: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for function, memory in _functions(facts):
        for copy in _copies(facts, memory):
            first, second = sorted((function, copy))
            if not _ordered(facts, first, second):
                sites = tuple(facts.trace.column("caller", np.array([first, second])).tolist())
                found.setdefault((*sites, memory), []).append((function, copy, memory))
    for pairs in list(found.values())[:MOST]:
        yield _finding(facts, *pairs[0], len(pairs))


def _functions(facts: Facts) -> list[tuple[int, int]]:
    """Calls that put a function into a queue with a pointer into host memory that devices can reach, and that memory."""
    positions = facts.trace.select(facts.trace.schema.doing("native_kernel"))
    positions = positions[has_field(facts.trace, "user_data", positions)][:MOST_FUNCTIONS]
    memory = facts.memory.at(field_of(facts.trace, "user_data", positions), positions)
    live = facts.memory.live(memory, positions) & (memory >= 0)
    live &= np.isin(np.append(facts.objects.table["family"], 0)[memory], HOSTS)
    return list(zip(positions[live].tolist(), memory[live].tolist(), strict=True))


def _copies(facts: Facts, memory: int) -> list[int]:
    ranges = facts.ranges
    return np.unique(ranges.table["position"][(ranges.object == memory) & ranges.live]).tolist()


def _ordered(facts: Facts, first: int, second: int) -> bool:
    """Are the two in one queue, or does anything between them make the second's queue, or the host, wait?"""
    trace = facts.trace
    both = np.array([first, second])
    queues = field_of(trace, "queue", both)
    if queues[0] == queues[1] or np.isin(queues, DEFAULT_QUEUES).any() or not has_field(trace, "queue", both).all():
        return True
    if trace.column("status", both).any() or len(set(trace.context[both].tolist())) > 1:
        return True
    if not facts.order.open(both[:1], queues[:1], second)[0]:
        return True
    waits = trace.select(trace.schema.doing("queue_wait"))
    waits = waits[(waits > first) & (waits < second)]
    return bool((field_of(trace, "queue", waits) == queues[1]).any())


def _finding(facts: Facts, function: int, copy: int, memory: int, count: int) -> Finding:
    called, copied = sites_of(facts, (function, copy))
    label = facts.objects.label(memory)
    happens = facts.happens
    ops = happens.op_at(np.array([function, copy])).tolist()
    queues = [happens.queues.label(int(happens.ops["queue"][op])) for op in ops]
    first, second = sorted((function, copy))
    later, earlier = (copied, called) if copy > function else (called, copied)
    pair = facts.nth.pair(first, second) or OrderPair()
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"{called.call} (call {called.number}) in {queues[0]} was passed {label}, which {copied.call} (call {copied.number}) in "
            f"{queues[1]} copies, and nothing makes the later of the two wait: the host function may run before, during or after the copy."
        ),
        evidence=(
            Evidence(f"the host function of call {called.number} was passed a pointer into {label}", (called.number,)),
            Evidence(f"call {copied.number} copies {label} in another queue", (copied.number,)),
            Evidence("no event or wait orders the two", (called.number, copied.number)),
            Evidence("not known: whether the function writes this memory, and whether a thread waits for it"),
        ),
        site=later,
        others=(earlier,),
        count=count,
        allocation=allocation_of(facts, memory),
        causes=("unordered-access",),
        facts=(("call0", called.call), ("call1", copied.call)),
        pair=replace(pair, missing=happens.missing_edge(*sorted(ops)).line, queues=(queues[0], queues[1])),
    )
