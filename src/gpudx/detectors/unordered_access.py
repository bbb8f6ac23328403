"""Two operations use one buffer, one of them writes, and nothing orders them.

Operations in different queues, or in one out-of-order queue, run whenever the device is free. Without an event, a barrier or a
host wait between them, either may run first, or both at once: the result is right most of the time, and wrong on another
device, under load, or once a kernel gets slower. Tools that wait after each launch hide it.

Example: the kernel may run before the copy has arrived.

    cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, copies);
    scale<<<blocks, 256, 0, compute>>>(d, n);

Fix it with an event between them (CUDA), or by passing the first command's event in the second's wait list (OpenCL):

    cudaEventRecord(e, copies);
    cudaStreamWaitEvent(compute, e);

Streams created with cudaStreamNonBlocking do not wait for the default stream, nor the default stream for them.

It is an error only if both certainly access the same bytes: copies and fills by their ranges, and a copy of a whole buffer against
a kernel that was passed it. It is a warning if it is not known how much of the buffer a kernel accesses, or whether it writes. A
pointer inside a structure counts only against copies and fills, as a warning: the kernel may not use it.

Not reported:

- pointers into different parts of one allocation
- kernels that are passed one pointer in several queues together with different numbers or pointers, as in programs that split a buffer
- two launches of kernels from binaries, if nothing shows whether they write
- host memory that kernels are passed, and shared virtual memory
- work whose order cannot be seen: values in memory, semaphores, host functions and callbacks, calls missing from the trace
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._overlaps import Overlap, overlap, writes
from gpudx.detectors._words import argument, placed, work_of
from gpudx.facts import Facts, backend_module
from gpudx.facts.allocated import allocation_of
from gpudx.facts.order.conflicts import Conflict
from gpudx.facts.order.happens import MissingEdge
from gpudx.facts.siblings import unused_siblings
from gpudx.facts.uses import ALL
from gpudx.model import Access, Cause, Evidence, Finding, OrderPair, Severity, Site
from gpudx.model.cause_kinds import UNORDERED
from gpudx.text import capital, plural

ID = "unordered-access"
ONE_QUEUE = "Or put both into one in-order queue, if they need not run at the same time."
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="Two operations race on one buffer",
    refutes_if="The failure remains with an event between the two named calls, or with both in one queue.",
    fix=(
        "Record an event after the first call in its queue, and let the second call's queue wait for it.",
        ONE_QUEUE,
    ),
    predicts=(
        (
            "recorded",
            "two operations use the same bytes, one writes, and no event, barrier or wait orders them",
        ),
        ("serialised", "the failure is gone or rarer; this alone shows only that timing or order matters"),
    ),
    settled_by="gpudx investigate --perturb: runs with the first call's work delayed, and with the missing order as well",
    kind=UNORDERED,
)


MOST_WAITS = 2  # events of a wait list that are named


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per memory and pair of call sites; repeats are counted."""
    told = 0
    for conflict in facts.conflicts.found:
        finding = _judge(facts, run, conflict)
        if finding is not None:
            yield finding
            told += 1
        if told == MOST:
            return


def _judge(facts: Facts, run: Run, conflict: Conflict) -> Finding | None:
    """The first of the pairs that are known to meet, as they were asked for: either may come first."""
    for first, second in map(sorted, conflict.pairs):
        if _is_unknown(facts, first) and _is_unknown(facts, second):
            continue
        met = overlap(facts, first, second)
        if met is not None:
            return _finding(facts, run, conflict, first, second, met)
    return None


def _is_unknown(facts: Facts, row: int) -> bool:
    """A launch of which nothing says whether it writes: two of them may both read. An OpenCL program from a binary, without its source,
    as PyOpenCL loads it from its cache in every run but the first."""
    use = facts.uses.table[row]
    launch = facts.launches.at_position(int(facts.happens.ops["position"][use["op"]]))
    if launch is None or use["node"] or use["argument"] < 0 or facts.launches.by_address[launch]:
        return False
    kernel = facts.launches.kernel_row[[launch]]
    return not facts.launches.declared.get("known", kernel, np.array([int(use["argument"])]))[0]


def _severity(run: Run, met: Overlap, contexts: set[int]) -> Severity:
    """Contexts of one device take turns, so that a race between them is rarely seen."""
    sure = met.certain and len(contexts) == 1
    return "error" if sure or (run.failed and (met.bytes or met.meet)) else "warning"


def _contexts(facts: Facts, ops: list[int]) -> set[int]:
    return {int(facts.trace.context[int(facts.happens.ops["position"][op])]) for op in ops}


def _finding(facts: Facts, run: Run, conflict: Conflict, first: int, second: int, met: Overlap) -> Finding:
    table, happens = facts.uses.table, facts.happens
    ops = [int(table["op"][row]) for row in (first, second)]
    sites = [_site(facts, row) for row in (first, second)]
    edge = happens.missing_edge(*ops)
    queues = [happens.queues.label(int(happens.ops["queue"][op])) for op in ops]
    label = facts.objects.label(conflict.memory)
    return Finding(
        id=ID,
        severity=_severity(run, met, _contexts(facts, ops)),
        message=_message(
            facts, sites, queues, label, happens.apart(*ops), table["how"][first], _waited_for(facts, sites[1].number - 1)
        ),
        evidence=(
            *_unused(facts, conflict.memory),
            _no_edge(facts, ops, queues),
            *([Evidence(f"it is not known {met.doubt}")] if met.doubt else []),
            _evidence(facts, first, sites[0], queues[0]),
            _evidence(facts, second, replace(sites[1], source=""), queues[1]),  # its line is shown as that of the finding
        ),
        site=sites[1],
        others=(sites[0],),
        count=conflict.count,
        allocation=allocation_of(facts, conflict.memory),
        causes=(ID,),
        facts=tuple((f"{name}{n}", str(value)) for n, s in enumerate(sites) for name, value in _lasting(s)),
        access=Access(width=met.bytes, seen_by="record") if met.bytes else None,
        pair=_pair(facts, queues, edge),
        steps=(f"{_step(edge.line)}.", ONE_QUEUE) if edge.line else (),
    )


def _step(line: str) -> str:
    """A line that begins with a call keeps the call's name as it is."""
    return f"Call {line}" if "(" in line.partition(" ")[0] else capital(line)


def _unused(facts: Facts, memory: int) -> Iterator[Evidence]:
    """A slot of a ring that was never used, beside one that all use."""
    rows = unused_siblings(facts, memory)
    if len(rows) and memory >= 0:
        made = placed(facts.sites.at(int(facts.objects.table["born"][rows[0]])))
        label = facts.objects.label(int(rows[0]))
        yield Evidence(f"{label}, which {made} created like {facts.objects.label(memory)}, was never used")


def _lasting(site: Site) -> list[tuple[str, str | int | None]]:
    return [("call", site.call), ("kernel", site.kernel), ("argument", site.argument)]


def _pair(facts: Facts, queues: list[str], edge: MissingEdge) -> OrderPair:
    found = facts.nth.pair(edge.first, edge.second) or OrderPair()
    return replace(found, missing=edge.line, queues=(queues[0], queues[1]))


def _site(facts: Facts, row: int) -> Site:
    use = facts.uses.table[row]
    index = int(use["argument"]) if not use["node"] and int(use["argument"]) >= 0 else None
    return facts.sites.at(int(facts.happens.ops["position"][use["op"]]), argument=index)


def _waited_for(facts: Facts, position: int) -> list[str]:
    """The calls whose events a call waits for: where it waits, the event may be the wrong one."""
    handles = np.frombuffer(facts.trace.array(position, "waits"), np.uint64)
    if len(handles) > MOST_WAITS:
        return [f"{len(handles):,} other events"]
    made = facts.happens.edges.resolve(handles, np.full(len(handles), position))
    positions = facts.happens.ops["position"]
    return [work_of(facts, facts.sites.at(int(positions[op]))) for op in made.tolist() if op >= 0]


def _message(
    facts: Facts, sites: list[Site], queues: list[str], label: str, apart: str | None, how: int, waited: list[str]
) -> str:
    doing = {"may write": "writing", "reads": "reading", "makes": "making"}.get(writes(int(how)), "writing")
    why = f"it waits only for {' and '.join(waited)}" if waited else "nothing makes it wait"
    why = f"{apart} does not synchronize with the default queue" if apart else why
    where = [f" in {queue}" if queues[0] != queues[1] else "" for queue in queues]
    first, second = (f"{work_of(facts, site)}{queue}" for site, queue in zip(sites, where, strict=True))
    return (
        f"{capital(second) if sites[1].launch else second} uses {label} while {first} may still be {doing} it: "
        f"{why}."
    )


def _evidence(facts: Facts, row: int, site: Site, queue: str) -> Evidence:
    line = f", from {site.source}" if site.source else ""
    return Evidence(f"{_did(facts, row, site)}, in {queue}, thread {site.tid}{line}", (site.number,))


def _did(facts: Facts, row: int, site: Site) -> str:
    use = facts.uses.table[row]
    node = facts.trace.info(int(use["at"])).name.removeprefix("note_graph_")
    who = f"{node} in the graph" if use["node"] else f"call {site.number}"
    what = _where(facts, row, facts.objects.label(int(use["memory"])))
    ways = {
        "writes": f"{who} writes {what}",
        "may write": f"{who} may write {what}",
        "reads": f"{who} reads {what}",
        "makes": f"{who} makes {what}",
        "uses": f"{who} uses {what}",
    }
    return ways[writes(int(use["how"]))]


def _where(facts: Facts, row: int, label: str) -> str:
    use = facts.uses.table[row]
    if int(use["argument"]) >= 0:
        handle = facts.trace.record(int(use["at"]))["kernel"]
        kernel = facts.objects.at(np.array([handle], np.uint64), np.array([use["at"]], np.int64))
        offset = f" at byte {int(use['first']):,}" if use["first"] else ""
        passed = "passed inside" if use["inside"] else "passed as"
        return f"{label}{offset}, {passed} {argument(facts, int(kernel[0]), int(use['argument']))}"
    size = plural(int(use["end"] - use["first"]), "byte")
    part = f"{size} of {label}" if int(use["reach"]) == ALL else f"parts of {size} of {label}"
    return f"{part} at byte {int(use['first']):,}" if use["first"] else part


def _no_edge(facts: Facts, ops: list[int], queues: list[str]) -> Evidence:
    happens = facts.happens
    calls = tuple(int(happens.ops["position"][op]) + 1 for op in ops)
    if len(_contexts(facts, ops)) > 1:
        return Evidence("the two are in streams of different contexts, and no event or wait orders them", calls)
    if queues[0] == queues[1]:
        return Evidence(f"{queues[0]} is out of order: only events, barriers and waits order its commands", calls)
    if apart := happens.apart(*ops):
        return Evidence(f"{apart} is not ordered with the default queue, and no event or wait orders the two{_early(facts, ops[0])}", calls)
    return Evidence(f"no event, barrier or host wait orders {queues[1]} after {queues[0]} here", calls)


def _early(facts: Facts, op: int) -> str:
    """Many take a fill for a call that returns when it is done."""
    info = facts.trace.info(int(facts.happens.ops["position"][op]))
    rules = backend_module(info.api, "order")
    early = getattr(rules, "returns_early", None)
    return f"; {info.name} returns before the device has done it" if early and early(info.name) else ""
