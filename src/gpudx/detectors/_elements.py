"""How many elements a launch is for, and what filled a buffer before it."""

from __future__ import annotations

from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.given_memory import uses

LEAST = 16  # elements: fewer fit by chance


def counts(facts: Facts, row: int) -> list[int]:
    """How many elements the launch may be for: its work-items, or a number among its arguments that they were rounded up from."""
    items, group = facts.launches.geometry(row)
    if any(n > 1 for n in items[1:]) or not items or items[0] < LEAST:
        return []
    numbers = [
        int.from_bytes(v["bytes"], "little")
        for v in facts.launches.values(row)
        if v["object"] < 0 and v["size"] in (4, 8)
    ]
    rounded = [n for n in numbers if LEAST <= n <= items[0] < n + max(group[0], 1)]
    return list(dict.fromkeys([*rounded, items[0]]))


def uploaded(facts: Facts, memory: int, before: int) -> int | None:
    """The last call that filled the whole buffer from the host before the launch."""
    table = uses(facts)
    size = int(facts.objects.table["size"][memory])
    mine = table[(table["object"] == memory) & (table["position"] < before) & (table["argument"] < 0)]
    whole = mine[((mine["how"] & WRITE) != 0) & (mine["begin"] == 0) & (mine["end"] == size)]
    calls = [int(p) for p in whole["position"] if facts.trace.info(int(p)).host]
    if calls:
        return calls[-1]
    return int(facts.objects.table["born"][memory]) if facts.objects.table["host_ptr"][memory] else None
