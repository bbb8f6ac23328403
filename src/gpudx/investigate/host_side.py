"""What the record has of things that no argument shows: host memory that graphs copy, variables of modules, data of host functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.notes import call_before
from gpudx.facts.objects import FAMILIES, KINDS
from gpudx.facts.operations import field_of, has_field
from gpudx.facts.ranges import WRITE

OF_HOST = [FAMILIES.index(name) for name in ("host", "registered")]
MOST_PAIRS = 10_000


def graph_copies(facts: Facts) -> list[tuple[int, str, int]]:
    """(position of the copy's own call, its side that is memory of the host, position of the graph's second launch)."""
    found = []
    for version, launches in facts.graphs.by_version():
        if len(launches) < 2:
            continue
        second = int(facts.graphs.position[launches][1])
        for node in version.nodes:
            words = facts.trace.record(node.position) if node.kind != "kernel" else {}
            sides = [side for side in ("src", "dst") if words.get(side) and _is_of_host(facts, words[side], second)]
            found += [(node.position, side, second) for side in sides[:1]]
    return found


def _is_of_host(facts: Facts, address: int, position: int) -> bool:
    row = facts.memory.one(address, position)
    return row < 0 or int(facts.objects.table["family"][row]) in OF_HOST


@dataclass(frozen=True)
class SymbolRace:
    """A copy to a variable, and a launch (positions of their calls) that nothing orders with it."""

    copy: int
    launch: int
    kernel: str
    variable: str


def symbol_races(facts: Facts) -> list[SymbolRace]:
    """Copies to variables of modules, with launches of kernels of the same module in other queues."""
    table, objects = facts.ranges.table, facts.objects.table
    rows = np.flatnonzero((table["how"] == WRITE) & (facts.ranges.object >= 0))
    rows = rows[objects["kind"][facts.ranges.object[rows]] == KINDS.index("global")]
    launches = facts.launches
    found: list[SymbolRace] = []
    for row in rows[:MOST_PAIRS]:
        copy, variable = int(table["position"][row]), int(facts.ranges.object[row])
        module = facts.trace.record(int(objects["born"][variable])).get("program", 0)
        owner = objects["owner"][launches.kernel_row]
        mine = (owner >= 0) & (objects["handle"][owner] == module)
        for launch in np.flatnonzero(mine & (launches.status == 0) & ~launches.captured)[:MOST_PAIRS]:
            position = int(launches.position[launch])
            if _unordered(facts, copy, position):
                name = facts.kernels.name(int(launches.kernel_row[launch]))
                called = facts.trace.array(int(objects["born"][variable]), "name").decode(errors="replace")
                found.append(SymbolRace(copy, position, name or "?", called or facts.objects.label(variable)))
    return found


def _unordered(facts: Facts, one: int, other: int) -> bool:
    first, second = facts.happens.op_at(np.array(sorted((one, other))))
    if first < 0 or second < 0:
        return False
    return not bool(facts.happens.ordered(np.array([first]), np.array([second]))[0])


@dataclass(frozen=True)
class ReusedData:
    """Two calls that put a function into a queue with the same data, other bytes in it by the second, and no wait for the first between
    them (positions); `calls` are passed this data in all."""

    first: int
    again: int
    calls: int


def reused_data(facts: Facts) -> list[ReusedData]:
    """The function itself may have changed its data: whether it had run by then is not known from this."""
    trace, found = facts.trace, []
    functions = trace.select(trace.schema.doing("native_kernel"))
    functions = functions[has_field(trace, "user_data", functions)]
    data = field_of(trace, "user_data", functions)
    for note in trace.named("note_source_changed").tolist():
        address, again = trace.record(note)["address"], call_before(facts, note)
        mine = functions[data == np.uint64(address)]
        earlier = mine[mine < again]
        if again not in mine or not len(earlier):
            continue
        # Not facts.happens: it takes the host to know of the end at once, since the function may tell it.
        if facts.order.open(earlier[-1:], field_of(trace, "queue", earlier[-1:]), again)[0]:
            found.append(ReusedData(int(earlier[-1]), again, len(mine)))
    return found
