"""Host threads launch kernels in their own streams that write the same memory, and nothing synchronizes them.

Each thread orders its own work: it launches a kernel that fills a scratch buffer, then one that uses it, in its own stream. A second
thread that does the same with the same buffer overwrites what the first one still needs. Waiting after each launch does not help,
because the launches of the two threads alternate.

Example:

    void worker(int *scratch) {                       // two threads, one scratch buffer
        fill<<<1, 256, 0, mine>>>(scratch, value);
        sum<<<1, 1, 0, mine>>>(scratch, out);
    }

Fix it with a buffer for each thread, or with a lock that is held until the work that uses the buffer has ended.

Reported only if the kernel's PTX, in the program's file, shows that both launches write the same places: no argument in which
they differ decides where the kernel writes. An error in a run that failed, else a warning. Programs that split one buffer among
threads pass offsets or sizes, which the code uses in addresses or conditions, and are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.kernel_code import roles_of
from gpudx.model import Evidence, Finding, Site

ID = "memory-shared-by-threads"
NEEDS_EVERY_CALL = True
UNORDERED = "no event or wait orders the two streams, and neither launch waits for the other thread's work"


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per memory and kernel."""
    told: set[tuple[int, int]] = set()
    for conflict in facts.conflicts.found:
        for first, second in map(sorted, conflict.pairs):
            launch, other = (_launch(facts, row) for row in (first, second))
            if launch is None or other is None or not _collide(facts, first, second, launch, other):
                continue
            kernel = int(facts.kernels.functions(facts.launches.kernel_row[[launch]])[0])
            reader = _used_later(facts, first)
            if reader is None or (conflict.memory, kernel) in told or len(told) >= MOST:
                continue
            told.add((conflict.memory, kernel))
            yield _finding(facts, run, (first, second), launch, conflict.memory, reader)


def _launch(facts: Facts, row: int) -> int | None:
    use = facts.uses.table[row]
    return None if use["node"] or use["inside"] or int(use["argument"]) < 0 else facts.launches.at_position(int(use["at"]))


def _collide(facts: Facts, first: int, second: int, a: int, b: int) -> bool:
    """Do two threads launch one kernel that writes the same places of the memory, and other values there? `a` and `b` are the launches
    of the two uses."""
    one, other = facts.uses.table[first], facts.uses.table[second]
    launches = facts.launches
    if launches.tid[a] == launches.tid[b] or launches.queue[a] == launches.queue[b]:
        return False
    same = facts.kernels.functions(launches.kernel_row[[a, b]])
    if same[0] != same[1] or one["first"] != other["first"] or one["argument"] != other["argument"] or not int(one["how"]) & WRITE:
        return False
    if launches.grid(a) != launches.grid(b):
        return False
    roles, shared = roles_of(facts, int(launches.kernel_row[a])), int(one["argument"])
    differing = [i for i, (x, y) in enumerate(zip(_values(facts, a), _values(facts, b), strict=True)) if x != y]
    return roles is not None and bool(differing) and not any(roles.says_where(i, shared) for i in differing)


def _values(facts: Facts, launch: int) -> list[tuple[int, bytes]]:
    return [(one["index"], one["bytes"]) for one in facts.launches.values(launch)]


def _used_later(facts: Facts, row: int) -> Site | None:
    """The next operation in the same queue that uses the memory: what the kernel wrote is meant for it."""
    table, ops = facts.uses.table, facts.happens.ops
    use = table[row]
    queue = ops["queue"][use["op"]]
    mine = np.flatnonzero((table["memory"] == use["memory"]) & (table["op"] > use["op"]) & (ops["queue"][table["op"]] == queue))
    return facts.sites.at(int(ops["position"][table["op"][mine[0]]])) if len(mine) else None


def _finding(facts: Facts, run: Run, rows: tuple[int, int], launch: int, memory: int, reader: Site) -> Finding:
    table, happens = facts.uses.table, facts.happens
    ops, index = [int(table["op"][row]) for row in rows], int(table["argument"][rows[0]])
    sites = [facts.sites.at(int(happens.ops["position"][op]), argument=index) for op in ops]
    queues = [happens.queues.label(int(happens.ops["queue"][op])) for op in ops]
    what = argument(facts, int(facts.launches.kernel_row[launch]), index)
    then = f"kernel {reader.kernel}" if reader.kernel else reader.call
    label = facts.objects.label(memory)
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=(
            f"Threads {sites[0].tid} and {sites[1].tid} both write {label} with kernel {sites[0].kernel}, in {queues[0]} and {queues[1]} "
            f"(launches {sites[0].launch} and {sites[1].launch}), and nothing synchronizes them: one may overwrite what {then} "
            f"(call {reader.number}) is about to use for the other."
        ),
        evidence=(
            Evidence(f"launch {sites[0].launch} of thread {sites[0].tid} was passed {label} as {what}", (sites[0].number,)),
            Evidence(f"launch {sites[1].launch} of thread {sites[1].tid} was passed it as the same argument", (sites[1].number,)),
            Evidence("where the kernel writes depends on nothing in which the two launches differ"),
            Evidence(UNORDERED, (sites[0].number, sites[1].number)),
            Evidence(f"{then} uses {label} next in {queues[0]}", (reader.number,)),
        ),
        site=sites[1],
        others=(sites[0], reader),
        allocation=allocation_of(facts, memory),
        causes=("threads-collide",),
        facts=(("kernel", sites[0].kernel or "?"), ("argument", str(index))),
        steps=(
            "Give each thread a buffer of its own.",
            "Or hold a lock from the launch that writes the buffer until the work that uses it has ended.",
        ),
    )
