"""Pairs of uses of the same bytes, one of them a write, that nothing orders.

A place is an offset of an allocation at which some use begins. Uses meet where they share a place: stretches of known
length cover all places in them, arguments of unknown reach only the one that they point to. So two parts of one pool
meet only where their bytes are known to overlap.

Each use is compared with the last one of every other lane at its place: what comes before that in the lane is complete
when it is. The work grows with uses times lanes at a place, the memory with uses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.accesses import WRITE
from gpudx.facts.codes import mixed
from gpudx.facts.happens import Happens
from gpudx.facts.operations import field_of
from gpudx.facts.uses import FROM, Uses
from gpudx.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
PLACE = 40  # bits of an offset
MOST_PLACES = 64  # of one use that are looked at
MOST_KEPT = 8  # examples of one conflict
MOST_FOUND = 1000  # different conflicts


@dataclass
class Conflict:
    """Uses (rows of Uses, the earlier first) of one memory by two call sites."""

    memory: int
    pairs: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0


class Conflicts:
    """All conflicts of a process."""

    def __init__(self, trace: Trace, happens: Happens, uses: Uses) -> None:
        self._trace, self._happens, self._uses = trace, happens, uses

    @cached_property
    def found(self) -> list[Conflict]:
        """One per memory and pair of call sites, that with the earliest call first."""
        found: dict[int, Conflict] = {}
        for first, second in self._unordered():
            codes = self._codes(first, second)
            order = np.argsort(codes, kind="stable")
            begins = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
            for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
                rows = order[begin : min(end, begin + MOST_KEPT)]
                self._add(found, int(codes[rows[0]]), first[rows], second[rows], end - begin)
        position, ops = self._happens.ops["position"], self._uses.table["op"]
        return sorted(found.values(), key=lambda c: int(position[ops[c.pairs[0][1]]]))

    def _add(self, found: dict[int, Conflict], code: int, first: I64, second: I64, count: int) -> None:
        if code not in found and len(found) >= MOST_FOUND:
            return
        one = found.setdefault(code, Conflict(int(self._uses.table["memory"][first[0]])))
        one.pairs += list(zip(first.tolist(), second.tolist(), strict=True))[: MOST_KEPT - len(one.pairs)]
        one.count += count

    def _codes(self, first: I64, second: I64) -> U64:
        one, other, memory = self._sites[first], self._sites[second], self._uses.table["memory"][first]
        return mixed(len(first), [memory.astype(np.uint64), np.minimum(one, other), np.maximum(one, other)])

    @cached_property
    def _sites(self) -> U64:
        """A code for where in the program each use was asked for: the call, its caller, and the kernel or graph."""
        table = self._uses.table
        position = self._happens.ops["position"][table["op"]]
        columns = [self._trace.call[position].astype(np.uint64), self._trace.column("caller", position)]
        columns += [field_of(self._trace, name, position) for name in ("kernel", "graph_exec")]
        return mixed(len(table), [*columns, table["argument"].astype(np.int64).view(np.uint64)])

    # ---- places ----

    @cached_property
    def _met(self) -> tuple[I64, I64]:
        """(place, use), by place and by the order in which the operations can have begun."""
        table = self._uses.table
        dense = np.unique(table["memory"], return_inverse=True)[1]
        base = dense.reshape(-1) << PLACE
        places = np.unique(base | table["first"])
        low = np.searchsorted(places, base | table["first"])
        high = np.searchsorted(places, base + np.minimum(table["end"], (1 << PLACE) - 1))
        counts = np.where(table["reach"] == FROM, 1, (high - low).clip(1, MOST_PLACES))
        use = np.repeat(np.arange(len(table)), counts)
        place = low[use] + np.arange(len(use)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = np.lexsort((self._happens.rank[table["op"][use]], place))
        return place[order], use[order]

    def _crowded(self) -> tuple[I64, I64, I64, I64]:
        """(first row of its place, use, number of its lane there, lanes there) of uses at places where several lanes meet
        and one of them may write."""
        place, use = self._met
        lane = self._happens.lane[self._uses.table["op"][use]].astype(np.int64)
        writes = (self._uses.table["how"][use] & WRITE) != 0
        keep = (lane >= 0) & np.isin(place, np.unique(place[writes]))
        place, use, lane = place[keep], use[keep], lane[keep]
        codes, number = np.unique((place << 32) | lane, return_inverse=True)
        at, first, lanes = np.unique(codes >> 32, return_index=True, return_counts=True)
        group = np.searchsorted(at, place)
        slot = number.reshape(-1) - first[group]
        several = lanes[group] > 1
        group, use, slot, lanes = group[several], use[several], slot[several], lanes[group[several]]
        begins = np.searchsorted(group, group)
        return begins, use, slot, lanes

    # ---- pairs ----

    def _unordered(self) -> Iterator[tuple[I64, I64]]:
        """Pairs of uses, lane by lane."""
        if not len(self._uses):
            return
        begins, use, slot, lanes = self._crowded()
        writes = (self._uses.table["how"][use] & WRITE) != 0
        for number in range(int(lanes.max(initial=0))):
            rows = np.flatnonzero(lanes > number)
            for among, against in ((writes, np.ones(len(use), bool)), (~writes, writes)):
                mine = np.where((slot[rows] == number) & among[rows], rows, -1)
                last = np.maximum.accumulate(mine)
                pairs = (last >= begins[rows]) & (slot[rows] != number) & against[rows]
                first, second = use[last[pairs]], use[rows[pairs]]
                free = self._free(first, second)
                if free.any():
                    yield first[free], second[free]

    def _free(self, first: I64, second: I64) -> Bool:
        """Does nothing order the operations of these uses, either way?"""
        op = self._uses.table["op"]
        free = ~self._happens.ordered(op[first], op[second])
        some = np.flatnonzero(free)
        free[some] = ~self._happens.ordered(op[second[some]], op[first[some]])
        return free
