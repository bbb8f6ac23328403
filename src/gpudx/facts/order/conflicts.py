"""Pairs of uses of the same bytes, one of them a write, that nothing orders.

Each use is compared with the last one of every other lane at its place (`crowds`): what comes before that in the lane is
complete when it is. So of all uses that were looked at, only the last of each lane at each place is remembered, and
each pair is judged while the clocks of its second operation are at hand. The work grows with uses times lanes at a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.codes import mixed
from gpudx.facts.operations import field_of
from gpudx.facts.order.crowds import Crowds, Met
from gpudx.facts.order.happens import Happens
from gpudx.facts.uses import Uses
from gpudx.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
MOST_KEPT = 8  # examples of one conflict
MOST_FOUND = 1000  # different conflicts


@dataclass
class Conflict:
    """Uses (rows of Uses) of one memory by two call sites, the one that can have begun earlier first."""

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
            _, at, which, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
            order = np.argsort(which.reshape(-1), kind="stable")
            ends = np.cumsum(counts)
            for one in np.argsort(at):
                rows = order[ends[one] - counts[one] : ends[one]][:MOST_KEPT]
                self._add(found, int(codes[at[one]]), first[rows], second[rows], int(counts[one]))
        position, ops = self._happens.ops["position"], self._uses.table["op"]
        return sorted(found.values(), key=lambda c: int(position[ops[c.pairs[0][1]]]))

    def _add(self, found: dict[int, Conflict], code: int, first: I64, second: I64, count: int) -> None:
        if code not in found and len(found) >= MOST_FOUND:
            return
        one = found.setdefault(code, Conflict(int(self._uses.table["memory"][first[0]])))
        one.pairs += list(zip(first.tolist(), second.tolist(), strict=True))[: MOST_KEPT - len(one.pairs)]
        one.count += count

    def _codes(self, first: I64, second: I64) -> U64:
        one, other, memory = self._sites(first), self._sites(second), self._uses.table["memory"][first]
        return mixed(len(first), [memory.astype(np.uint64), np.minimum(one, other), np.maximum(one, other)])

    def _sites(self, rows: I64) -> U64:
        """A code for where in the program each use was asked for: the call, its caller, and the kernel or graph."""
        uses = self._uses.table[rows]
        position = self._happens.ops["position"][uses["op"]]
        columns = [self._trace.call[position].astype(np.uint64), self._trace.column("caller", position)]
        columns += [field_of(self._trace, name, position) for name in ("kernel", "graph_exec")]
        return mixed(len(rows), [*columns, uses["argument"].astype(np.int64).view(np.uint64)])

    # ---- pairs ----

    def _unordered(self) -> Iterator[tuple[I64, I64]]:
        """Pairs of uses, by the second and then by the first of them, stretch by stretch."""
        if not len(self._uses):
            return
        crowds = Crowds(self._happens, self._uses)
        last = [np.full(len(crowds), -1, np.int32) for _ in range(2)]  # of each place and lane: writing, reading use
        for met in crowds.stretches():
            found = [
                pair for number in range(int(met.lanes.max(initial=0))) for pair in self._against(met, number, last)
            ]
            for kept, which in zip(last, (met.writes, ~met.writes), strict=True):
                kept[(met.first + met.slot)[which]] = met.use[which]
            if found:
                yield self._sorted(*(np.concatenate(side) for side in zip(*found, strict=True)))

    def _against(self, met: Met, number: int, last: list[NDArray[np.int32]]) -> Iterator[tuple[I64, I64]]:
        """Unordered pairs whose first use is in one of the lanes of its place."""
        rows = np.flatnonzero(met.lanes > number)
        ours = met.slot[rows] == number
        writes = met.writes[rows]
        for kept, among, against in ((last[0], writes, True), (last[1], ~writes, writes)):
            latest = np.maximum.accumulate(np.where(ours & among, rows, -1))
            first = np.where(latest >= met.begins[rows], met.use[latest], kept[met.first[rows] + number])
            pairs = (first >= 0) & ~ours & against
            first, second = first[pairs], met.use[rows[pairs]]
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

    def _sorted(self, first: I64, second: I64) -> tuple[I64, I64]:
        order = np.lexsort((first, second, self._happens.rank[self._uses.table["op"][second]]))
        return first[order], second[order]
