"""Something wrote right outside an allocation.

In a fenced run each allocation has a mapping of its own. Accesses beyond that mapping are faults of the device; the few bytes
that alignment leaves between the allocation and the end of its mapping are filled with a pattern. The pattern had changed
when the program next waited. Who wrote there is not in the record: it was one of the launches since the pattern was last
seen whole, most likely one that was given this very allocation. Reads of these bytes are not noticed, nor is a write of
the same values.

Example:

    float *row;
    cudaMalloc(&row, 63 * sizeof(float));                          // 252 bytes; 4 more to the next multiple of 256
    scale<<<1, 64>>>(row, 64);                                     // the last thread writes row[63]

Mend it by comparing the size of the allocation with what the launch's grid and size arguments reach.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import MOST_RANKED, suspect
from gpudx.detectors._words import argument, plural
from gpudx.facts import Facts
from gpudx.facts.fences import Damage
from gpudx.model import Evidence, Finding

ID = "write-outside-allocation"
SHOWN = 8
NEAR = 4096  # so much of the slack is looked at (native/core/fence.h)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per damage that was seen."""
    for damage in facts.fences.damages:
        yield _finding(facts, damage)


def _finding(facts: Facts, damage: Damage) -> Finding:
    row = facts.memory.one(damage.address, damage.position)
    running = _running(facts, damage)
    graphs = _graphs(facts, damage)
    given = _ranked(facts, [launch for launch in running if _index(facts, launch, damage, row) is not None])
    only = given[0] if len(given) == 1 and not graphs else None
    label = facts.memory.describe(row) if row >= 0 else f"the allocation at {damage.address:#x}"
    site = facts.sites.at(_at(facts, only), argument=_index(facts, only, damage, row)) if only is not None else None
    return Finding(
        id=ID,
        severity="error",
        message=f"Something wrote {plural(damage.bytes, 'byte')} {_where(damage)} of {label}{_who(facts, given, only)}.",
        evidence=(
            Evidence(f"the pattern {_where(damage)} of it had changed; there is now {damage.seen:#x}", (damage.position + 1,)),
            _since(facts, damage),
            *(_told(facts, launch, damage, row) for launch in given[:SHOWN]),
            *_others(running, given, graphs),
        ),
        site=site,
        others=tuple(facts.sites.at(_at(facts, launch)) for launch in given[:SHOWN] if launch != only),
        allocation=facts.objects.label(row) if row >= 0 else None,
        causes=(ID,),
        facts=(
            ("kernel", facts.launches.name(only) if only is not None else ""),
            ("side", "behind" if damage.behind else "before"),
            ("size", str(damage.size)),
        ),
        details={
            "single": only is not None,
            "launches": len(given),
            "distance": damage.distance,
            "bytes": damage.bytes,
            "allocation_size": damage.size,
        },
    )


def _running(facts: Facts, damage: Damage) -> list[int]:
    """Launches that may have run since the slack was last whole."""
    launches = facts.launches
    ran = np.flatnonzero((launches.status == 0) & launches.done & ~launches.captured)
    position = launches.position[ran]
    late = (position > damage.since) & (position < damage.position)
    late |= facts.order.open(position, launches.queue[ran], damage.since + 1)
    return [int(row) for row in ran[late]]


def _graphs(facts: Facts, damage: Damage) -> list[int]:
    graphs = facts.graphs
    started = graphs.position[graphs.status == 0]
    return [int(p) for p in started if damage.since < p < damage.position]


def _index(facts: Facts, launch: int, damage: Damage, row: int) -> int | None:
    """The argument that gave the launch this allocation: a pointer into it, else one that lies right outside."""
    pointers, arguments = facts.launches.pointers, facts.launches.arguments
    inside = [int(pointers.index[p]) for p in pointers.of(launch) if row >= 0 and pointers.object[p] == row]
    first, last = np.searchsorted(arguments.launch, [launch, launch + 1])
    low, high = damage.address - NEAR, damage.address + damage.size + NEAR
    near = [int(arguments.index[a]) for a in range(int(first), int(last)) if low <= int(arguments.value[a]) < high]
    return next(iter([*inside, *near]), None)


def _ranked(facts: Facts, launches: list[int]) -> list[int]:
    """The most suspicious first, then the newest."""
    ranked = [suspect(facts, launch) for launch in launches[-MOST_RANKED:]]
    return [s.launch for s in sorted(ranked, key=lambda s: (-s.weight, -s.launch))]


def _at(facts: Facts, launch: int) -> int:
    return int(facts.launches.position[launch])


def _where(damage: Damage) -> str:
    edge = "behind the end" if damage.behind else "before the start"
    return f"right {edge}" if not damage.distance else f"{plural(damage.distance, 'byte')} {edge}"


def _who(facts: Facts, given: list[int], only: int | None) -> str:
    if only is not None:
        name = facts.launches.name(only)
        return f"; the only launch since that was given it is launch {only + 1} of kernel {name} (call {_at(facts, only) + 1})"
    return f"; {plural(len(given), 'launch', 'launches')} since then were given it" if given else ""


def _since(facts: Facts, damage: Damage) -> Evidence:
    return Evidence("it was whole when it was last looked at, after this call", (max(damage.since, 0) + 1,))


def _told(facts: Facts, launch: int, damage: Damage, row: int) -> Evidence:
    index = _index(facts, launch, damage, row)
    name = argument(facts, int(facts.launches.kernel_row[launch]), index or 0)
    text = f"launch {launch + 1} of kernel {facts.launches.name(launch)} was given it as {name}"
    return Evidence(text, (_at(facts, launch) + 1,))


def _others(running: list[int], given: list[int], graphs: list[int]) -> Iterator[Evidence]:
    rest = len(running) - len(given)
    if rest:
        yield Evidence(f"{plural(rest, 'other launch', 'other launches')} in that time not given it")
    if graphs:
        yield Evidence(f"{plural(len(graphs), 'graph launch', 'graph launches')} too", (graphs[0] + 1,))
