"""Delta debugging: the smallest part of a list that still does it.

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (IEEE Trans. Softw. Eng. 28, 2002): ever smaller parts are
tried, then what is left without each of them. The result cannot lose any one element; smaller ones may exist elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence


def smallest(items: Sequence[int], does: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...]:
    """`does(items)` must be true. Ordered as before."""
    rest, parts = tuple(items), 2
    while len(rest) > 1:
        pieces = _split(rest, parts)
        found = next((piece for piece in pieces if does(piece)), None)
        if found is not None:
            rest, parts = found, 2
            continue
        without = (tuple(i for i in rest if i not in piece) for piece in pieces) if parts > 2 else iter(())
        found = next((piece for piece in without if does(piece)), None)
        if found is not None:
            rest, parts = found, max(parts - 1, 2)
        elif parts >= len(rest):
            break
        else:
            parts = min(2 * parts, len(rest))
    return rest


def _split(items: tuple[int, ...], parts: int) -> list[tuple[int, ...]]:
    edges = [len(items) * i // parts for i in range(parts + 1)]
    return [items[a:b] for a, b in itertools.pairwise(edges) if a < b]
