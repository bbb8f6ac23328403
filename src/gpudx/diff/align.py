"""Which elements of two long sequences belong together: few insertions and removals turn one into the other.

Equal beginnings and ends go first, and what the other side does not have at all. What is left is cut at runs of elements that
occur once on each side (Bram Cohen's patience diff), and the pieces are walked with the greedy algorithm of Myers, "An O(ND)
difference algorithm and its variations" (Algorithmica 1, 1986). A walk that needs more than MOST_EDITS edits commits to the path
that came furthest and goes on from there: the number of edits is then no longer the smallest one, the time stays linear.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.codes import mixed

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Pairs = tuple[I64, I64]
Runs = list[tuple[int, int, int]]  # where equal pieces begin on both sides, and how long they are

GRAMS = (1, 8, 64)  # lengths of runs that may occur once
SMALL = 4096  # elements of both sides together that are walked at once
MOST_EDITS = 64
MOST_STEPS = 4_000_000  # of all walks: what takes longer is paired place by place
MOST_MOVED = 64
SHORT = 16  # elements that are compared one by one
NOTHING: I64 = np.zeros(0, np.int64)


class Aligner:
    """Aligns several pairs of sequences within one budget. `exact` is False when that was used up."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self._steps = steps

    @property
    def exact(self) -> bool:
        return self._steps > 0

    def align(self, a: U64, b: U64) -> Pairs:
        """Places of equal elements that belong together, both rising."""
        head = _same(a, b)
        tail = _same(a[head:][::-1], b[head:][::-1])
        inner = self._common(a[head : len(a) - tail], b[head : len(b) - tail])
        return _joined(
            [
                (np.arange(head), np.arange(head)),
                (inner[0] + head, inner[1] + head),
                (np.arange(len(a) - tail, len(a)), np.arange(len(b) - tail, len(b))),
            ]
        )

    def refine(self, pairs: Pairs, a: U64, b: U64) -> Pairs:
        """Adds pairs between those that are known, by other codes for the same elements."""
        begins, sizes = _gaps(pairs, len(a), len(b))
        alike = (sizes[0] == sizes[1]) & (sizes[0] > 0)
        straight, wrong = _straight(begins, sizes, np.flatnonzero(alike), a, b)
        rest = np.flatnonzero((sizes[0] > 0) & (sizes[1] > 0) & ~alike)
        found = [pairs, straight]
        for gap in np.concatenate([rest, wrong]).tolist():
            x, y, m, n = (int(one[gap]) for one in (*begins, *sizes))
            left, right = self.align(a[x : x + m], b[y : y + n])
            found.append((left + x, right + y))
        left, right = _joined(found)
        order = np.argsort(left, kind="stable")
        return left[order], right[order]

    def _common(self, a: U64, b: U64) -> Pairs:
        """Without what only one side has."""
        in_a, in_b = np.flatnonzero(np.isin(a, b)), np.flatnonzero(np.isin(b, a))
        left, right = self._cut(a[in_a], b[in_b], GRAMS)
        return in_a[left], in_b[right]

    def _cut(self, a: U64, b: U64, grams: tuple[int, ...]) -> Pairs:
        """Cut at what occurs once on each side, and go on with the pieces."""
        if not len(a) or not len(b):
            return NOTHING, NOTHING
        if not grams or len(a) + len(b) <= SMALL:
            return self._walk(a, b)
        anchors = _rising(*_once(a, b, grams[0]))
        begins, sizes = _gaps(anchors, len(a), len(b))
        found = [anchors]
        for gap in np.flatnonzero((sizes[0] > 0) & (sizes[1] > 0)).tolist():
            x, y, m, n = (int(one[gap]) for one in (*begins, *sizes))
            left, right = self._cut(a[x : x + m], b[y : y + n], grams[1:])
            found.append((left + x, right + y))
        left, right = _joined(found)
        order = np.argsort(left, kind="stable")
        return left[order], right[order]

    def _walk(self, a: U64, b: U64) -> Pairs:
        """The greedy walk from the beginning to the end, in stretches of MOST_EDITS."""
        walk, runs, x, y = _Walk(a, b), [], 0, 0
        while x < len(a) and y < len(b) and self._steps > 0:
            more, x, y = walk.stretch(x, y)
            self._steps -= walk.steps
            runs += more
        left, right = _places(runs)
        if x < len(a) and y < len(b):
            rest = min(len(a) - x, len(b) - y)
            equal = np.flatnonzero(a[x : x + rest] == b[y : y + rest])
            left, right = _joined([(left, right), (equal + x, equal + y)])
        return left, right


def settled(pairs: Pairs, a: U64, b: U64) -> Pairs:
    """The same alignment with lone elements as late as they can be: where the two sequences first part is then the first place at
    which their beginnings differ. The first MOST_MOVED stretches of each side are moved."""
    left, right = pairs
    right_of = np.full(len(a), -1, np.int64)
    right_of[left] = right
    _move(right_of, a)
    left = np.flatnonzero(right_of >= 0)
    left_of = np.full(len(b), -1, np.int64)
    left_of[right_of[left]] = left
    _move(left_of, b)
    right = np.flatnonzero(left_of >= 0)
    return left_of[right], right


def _move(partner: I64, codes: U64) -> None:
    """A stretch whose first element equals the one behind it may as well begin one element later."""
    lone = np.flatnonzero(partner < 0)
    begins = lone[np.flatnonzero(np.append(True, np.diff(lone) > 1))][:MOST_MOVED] if len(lone) else lone
    for begin in begins[::-1].tolist():
        end = begin
        while end < len(partner) and partner[end] < 0:
            end += 1
        while end < len(partner) and partner[end] >= 0 and codes[begin] == codes[end]:
            partner[begin], partner[end] = partner[end], -1
            begin, end = begin + 1, end + 1


class _Walk:
    """Myers' furthest reaching paths. Short snakes are compared one by one, long ones all at once."""

    def __init__(self, a: U64, b: U64) -> None:
        self._a, self._b = a, b
        self._list_a, self._list_b = a.tolist(), b.tolist()
        self.steps = 0

    def stretch(self, x0: int, y0: int) -> tuple[Runs, int, int]:
        """Equal pieces from a point on, and the point that was reached."""
        n, m = len(self._a) - x0, len(self._b) - y0
        reach, trail = {1: 0}, []
        self.steps = 0
        for edits in range(MOST_EDITS + 1):
            trail.append(dict(reach))
            for k in range(-edits, edits + 1, 2):
                down = k == -edits or (k != edits and reach.get(k - 1, -1) < reach.get(k + 1, -1))
                x = reach.get(k + 1, 0) if down else reach.get(k - 1, 0) + 1
                if x > n or x - k > m:
                    reach[k] = min(x, n, m + k)
                    continue
                x += self._snake(x0 + x, y0 + x - k)
                reach[k] = x
                self.steps += 1
                if x >= n and x - k >= m:
                    return self._back(trail, reach, edits, k, x0, y0), x0 + x, y0 + x - k
        k = max((k for k in reach if (k + edits) % 2 == 0), key=lambda one: 2 * reach[one] - one)
        return self._back(trail, reach, edits, k, x0, y0), x0 + reach[k], y0 + reach[k] - k

    def _snake(self, x: int, y: int) -> int:
        """How many elements are equal from here on."""
        a, b, most, count = self._list_a, self._list_b, min(len(self._a) - x, len(self._b) - y), 0
        while count < most and count < SHORT and a[x + count] == b[y + count]:
            count += 1
        if count < SHORT or count == most:
            return count
        return count + _same(self._a[x + count :], self._b[y + count :])

    def _back(self, trail: list[dict[int, int]], reach: dict[int, int], edits: int, k: int, x0: int, y0: int) -> Runs:
        """The equal pieces of the path that ends on diagonal k."""
        runs, x = [], reach[k]
        for edit in range(edits, -1, -1):
            before = trail[edit]
            down = k == -edit or (k != edit and before.get(k - 1, -1) < before.get(k + 1, -1))
            start = 0 if edit == 0 else before.get(k + 1, 0) if down else before.get(k - 1, 0) + 1
            if x > start:
                runs.append((x0 + start, y0 + start - k, x - start))
            k = k + 1 if down else k - 1
            x = before.get(k, 0)
        return runs[::-1]


def _same(a: U64, b: U64) -> int:
    """How many elements are equal at the beginning; looks at twice as many each time."""
    most, at, step = min(len(a), len(b)), 0, 256
    while at < most:
        end = min(at + step, most)
        different = np.flatnonzero(a[at:end] != b[at:end])
        if len(different):
            return at + int(different[0])
        at, step = end, step * 2
    return most


def _once(a: U64, b: U64, size: int) -> Pairs:
    """Where runs of `size` elements begin that occur once on each side, by their places in `a`."""
    if min(len(a), len(b)) < size:
        return NOTHING, NOTHING
    one, other = _single(_grams(a, size)), _single(_grams(b, size))
    _, left, right = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    order = np.argsort(one[1][left])
    return one[1][left][order], other[1][right][order]


def _grams(codes: U64, size: int) -> U64:
    count = len(codes) - size + 1
    return codes if size == 1 else mixed(count, [codes[k : count + k] for k in range(size)])


def _single(codes: U64) -> tuple[U64, I64]:
    """The codes that occur once, and where."""
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return values[counts == 1], first[counts == 1]


def _rising(left: I64, right: I64) -> Pairs:
    """The longest part in which the right side rises too (Schensted, 1961: by piles)."""
    if not len(right) or (np.diff(right) > 0).all():
        return left, right
    tops: list[int] = []
    last: list[int] = []
    before = np.full(len(right), -1, np.int64)
    for place, value in enumerate(right.tolist()):
        pile = bisect_left(tops, value)
        tops[pile : pile + 1] = [value]
        last[pile : pile + 1] = [place]
        before[place] = last[pile - 1] if pile else -1
    chosen, place = [], last[-1]
    while place >= 0:
        chosen.append(place)
        place = int(before[place])
    keep = np.array(chosen[::-1])
    return left[keep], right[keep]


def _gaps(pairs: Pairs, m: int, n: int) -> tuple[Pairs, Pairs]:
    """Where the stretches between pairs begin, and how long they are, on both sides."""
    begins = tuple(np.append(0, side + 1) for side in pairs)
    sizes = tuple(np.append(side, end) - begin for side, end, begin in zip(pairs, (m, n), begins, strict=True))
    return (begins[0], begins[1]), (sizes[0], sizes[1])


def _straight(begins: Pairs, sizes: Pairs, gaps: I64, a: U64, b: U64) -> tuple[Pairs, I64]:
    """All gaps of equal length at once: pairs place by place where all codes are equal; the gaps where they are not."""
    lengths = sizes[0][gaps]
    which = np.repeat(np.arange(len(gaps)), lengths)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    left, right = begins[0][gaps][which] + nth, begins[1][gaps][which] + nth
    wrong = np.bincount(which[a[left] != b[right]], minlength=len(gaps)) > 0
    keep = ~wrong[which]
    return (left[keep], right[keep]), gaps[wrong]


def _places(runs: Runs) -> Pairs:
    if not runs:
        return NOTHING, NOTHING
    table = np.array(runs, np.int64)
    nth = np.arange(int(table[:, 2].sum())) - np.repeat(np.cumsum(table[:, 2]) - table[:, 2], table[:, 2])
    return np.repeat(table[:, 0], table[:, 2]) + nth, np.repeat(table[:, 1], table[:, 2]) + nth


def _joined(parts: list[Pairs]) -> Pairs:
    return np.concatenate([one for one, _ in parts]).astype(np.int64), np.concatenate([two for _, two in parts]).astype(
        np.int64
    )
