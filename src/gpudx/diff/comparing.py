"""From two recordings to one comparison."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.diff import allocations, failures, surroundings
from gpudx.diff.align import Aligner
from gpudx.diff.found import NOT_THERE, Found
from gpudx.diff.launches import Coded, Matched, coded
from gpudx.diff.lines import Line, bag_equal, paired, split
from gpudx.diff.side import Side
from gpudx.diff.surroundings import Surroundings
from gpudx.errors import UserError
from gpudx.facts import Facts
from gpudx.model import Case
from gpudx.model.comparison import ASPECTS, Comparison, Difference

MOST_SHOWN = 5  # of one aspect
SIDES = ("GOOD", "BAD")

Threads = list[tuple[int | None, int | None]]
U64 = NDArray[np.uint64]


@dataclass(frozen=True)
class Recording:
    """One run: its case, and the facts of its processes, oldest first."""

    name: str
    case: Case
    facts: Sequence[Facts]


def compare(good: Recording, bad: Recording, ignore: Collection[str] = ()) -> Comparison:
    """All that differs. UserError when one of them has nothing to compare."""
    for one in (good, bad):
        if not one.facts:
            raise UserError(f"{one.name} has no recorded calls, so there is nothing to compare.")
    sides = [[Side(facts) for facts in one.facts] for one in (good, bad)]
    around = [Surroundings(one.case, mine) for one, mine in zip((good, bad), sides, strict=True)]
    both = [_Processes(number, *pair) for number, pair in enumerate(_pairs(*sides))]
    counts: Counter[str] = Counter()
    found: list[Difference] = []
    for pair in both:
        counts.update(pair.counts)
        found += pair.differences()
    for lone in _lone(*sides):
        found.append(lone)
        counts["processes"] += 1
    for look in (surroundings.environment, surroundings.objects, surroundings.ending):
        told = [_placed(one, len(both), np.inf) for one in look(*around)]
        counts.update(one.aspect for one in told)
        found += told
    return _comparison(good, bad, counts, [one for one in found if one.aspect not in ignore], ignore, both)


def _comparison(
    good: Recording,
    bad: Recording,
    counts: Counter[str],
    found: list[Difference],
    ignore: Collection[str],
    both: list[_Processes],
) -> Comparison:
    found.sort(key=lambda one: (one.process, one.place, ASPECTS.index(one.aspect)))
    shown = [one for aspect in ASPECTS for one in [d for d in found if d.aspect == aspect][:MOST_SHOWN]]
    return Comparison(
        good=good.name,
        bad=bad.name,
        counts={aspect: counts[aspect] for aspect in ASPECTS if aspect not in ignore},
        shown=tuple(shown),
        first=found[0] if found else None,
        launches=(sum(len(f.launches) for f in good.facts), sum(len(f.launches) for f in bad.facts)),
        notes=tuple(dict.fromkeys([*_gaps(good, bad), *(note for one in both for note in one.notes)])),
    )


def _gaps(good: Recording, bad: Recording) -> Iterator[str]:
    for name, one in zip(SIDES, (good, bad), strict=True):
        for facts in one.facts:
            yield from (f"Not compared, because {name} does not have it: {gap.text}." for gap in facts.trace.gaps)


# ---- processes ----


def _pairs(good: Sequence[Side], bad: Sequence[Side]) -> list[tuple[Side, Side]]:
    """Processes of the same program, in order of time; if both runs have one process each, these."""
    if len(good) == len(bad) == 1:
        return [(good[0], bad[0])]
    rest = list(bad)
    pairs = []
    for one in good:
        other = next((side for side in rest if _program(side) == _program(one)), None)
        if other is not None:
            rest = [side for side in rest if side is not other]
            pairs.append((one, other))
    return pairs


def _lone(good: Sequence[Side], bad: Sequence[Side]) -> Iterator[Difference]:
    used = {id(side) for pair in _pairs(good, bad) for side in pair}
    for which, sides in enumerate((good, bad)):
        for side in (one for one in sides if id(one) not in used):
            was, now = ("recorded", NOT_THERE) if which == 0 else (NOT_THERE, "recorded")
            yield Difference("processes", f"process {_program(side)}:", was, now)


def _program(side: Side) -> str:
    return os.path.basename(side.trace.exe)


def _placed(one: Found, process: int, place: float) -> Difference:
    good, bad = (None if at is None else at + 1 for at in (one.good, one.bad))
    return Difference(one.aspect, one.where, one.was, one.now, process, place, good, bad)


class _Processes:
    """Two processes that belong together."""

    def __init__(self, number: int, good: Side, bad: Side) -> None:
        self.number, self.good, self.bad = number, good, bad
        self.notes: list[str] = []
        self._aligner = Aligner()
        self._threads = self._find_threads()
        self._memory = allocations.match(good, bad, self._threads, self._aligner)
        self._matched = self._view()
        self._allocated = self._fewest()
        self._failed = failures.differences(good, bad, self._threads, self._aligner)
        if not self._aligner.exact:
            self.notes.append("The runs differ so much that launches were paired place by place in some parts.")

    @property
    def counts(self) -> dict[str, int]:
        launches = self._matched.counts if self._matched else {}
        return {**launches, "allocations": self._allocated.count, "errors": len(self._failed)}

    def differences(self) -> Iterator[Difference]:
        """The first ones of each aspect, placed among the calls of the good run."""
        launches = self._matched.differences(MOST_SHOWN) if self._matched else ()
        for one in (*self._allocated.differences(MOST_SHOWN), *launches, *self._failed):
            yield _placed(one, self.number, self._place(one))

    def _place(self, one: Found) -> float:
        if one.good is not None:
            return float(one.good)
        return self._all.to_good(one.bad) if one.bad is not None else np.inf

    @cached_property
    def _rough(self) -> tuple[Coded, Coded]:
        """Both sides with memory known by kind, size and offset only: what can be said before allocations are paired."""
        return coded(self.good, self.good.likes()), coded(self.bad, self.bad.likes())

    def _find_threads(self) -> Threads:
        """Threads that belong together, by what they launch and allocate."""
        mine, theirs = (np.unique(side.trace.column("tid")).tolist() for side in (self.good, self.bad))
        if len(mine) == len(theirs) == 1:
            return [(mine[0], theirs[0])]
        pairs = paired(*(_thread_lines(one) for one in self._rough))
        return [(one.key if one else None, other.key if other else None) for one, other in pairs]

    def _view(self) -> Matched | None:
        """The launches in the view with fewest differences; None where only their order differs, by chance."""
        labels = self._memory.labels()
        exact = (coded(self.good, labels[0]), coded(self.bad, labels[1]))
        by_thread = self._all = Matched(*exact, _lines(exact, self._threads), self._aligner)
        several = max(len(np.unique(side.launches.tid)) for side in (self.good, self.bad)) > 1
        if not several or not by_thread.total:
            return by_thread
        views = [by_thread, self._by_queue(exact)]
        if views[1].total and (by_thread.counts["kernels"] or self._memory.count):
            loose = self._loose()
            if bag_equal(loose[0].whole, loose[1].whole):
                self.notes.append("Both runs made the same launches; only the interleaving of their threads differs.")
                return None
            views.append(self._by_queue(loose))
        self._all = min(views, key=lambda view: view.total)
        return self._all

    def _loose(self) -> tuple[Coded, Coded]:
        """Memory known by kind, size and offset, with allocations that only changed their size under the old one."""
        if not self._unordered.count:
            return self._rough
        return self._rough[0], coded(self.bad, self._unordered.old_likes())

    @cached_property
    def _unordered(self) -> allocations.Memory:
        return allocations.match_in_any_order(self.good, self.bad, self._aligner)

    def _by_queue(self, both: tuple[Coded, Coded]) -> Matched:
        return Matched(*both, paired(*(split(one.side.queue, one.whole) for one in both)), self._aligner)

    def _fewest(self) -> allocations.Memory:
        """Where several threads allocate, who allocated what may be chance: then allocations are compared without order."""
        if max(len(np.unique(side.memory_thread)) for side in (self.good, self.bad)) <= 1 or not self._memory.count:
            return self._memory
        return min((self._memory, self._unordered), key=lambda one: one.count)


def _thread_lines(one: Coded) -> list[Line]:
    side = one.side
    errors = side.facts.errors.position
    born = side.objects.table["born"][side.memory]
    position = np.concatenate([side.launches.position, born, errors])
    codes = np.concatenate([one.whole, side.memory_like, np.zeros(len(errors), np.uint64)])
    order = np.argsort(position, kind="stable")
    return split(side.trace.column("tid", position[order]), codes[order], side.trace.pid)


def _lines(both: tuple[Coded, Coded], threads: Threads) -> list[tuple[Line | None, Line | None]]:
    found = []
    for pair in threads:
        rows = [
            np.flatnonzero(one.side.launches.tid == tid) if tid is not None else None
            for one, tid in zip(both, pair, strict=True)
        ]
        lines = [Line(0, r, one.whole[r]) if r is not None else None for one, r in zip(both, rows, strict=True)]
        found.append((lines[0], lines[1]))
    return found
