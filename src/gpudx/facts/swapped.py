"""Two buffer arguments in each other's place, by what the program did with the buffers before and after the launch."""

from __future__ import annotations

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.given_memory import uses


def swapped_with(facts: Facts, position: int, argument: int) -> int | None:
    """The argument that this one was probably exchanged with: the kernel reads a buffer that nothing has written and that the program
    reads back afterwards, and may write one of the same size that the program has filled and never reads back."""
    table = uses(facts)
    here = table[(table["position"] == position) & (table["argument"] >= 0)]
    mine = here[here["argument"] == argument]
    if not len(mine):
        return None
    empty, sizes = int(mine[0]["object"]), facts.objects.table["size"]
    if _is_filled(facts, empty, position) or not _is_read_back(facts, empty, position):
        return None
    others = [
        use
        for use in here
        if use["argument"] != argument and use["how"] & WRITE and sizes[use["object"]] == sizes[empty]
    ]
    found = [
        int(use["argument"])
        for use in others
        if _is_filled(facts, int(use["object"]), position) and not _is_read_back(facts, int(use["object"]), position)
    ]
    return found[0] if len(found) == 1 else None


def _is_filled(facts: Facts, obj: int, position: int) -> bool:
    """Did anything write it before the launch?"""
    table = uses(facts)
    mine = (table["object"] == obj) & (table["position"] < position) & ((table["how"] & WRITE) != 0)
    return bool(mine.any()) or bool(facts.objects.table["host_ptr"][obj])


def _is_read_back(facts: Facts, obj: int, position: int) -> bool:
    """Does a copy to the host, or a map, follow the launch?"""
    table, trace = uses(facts), facts.trace
    later = table["position"][(table["object"] == obj) & (table["position"] > position) & (table["argument"] < 0)]
    reads = np.array([bool(c.maps) or (bool(c.reads) and bool(c.host)) for c in trace.schema.calls])
    return bool(reads[trace.call[later]].any())
