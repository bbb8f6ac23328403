"""Arguments of a kernel that can have been passed in each other's place without anybody noticing: same type, different values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from gpudx.facts import Facts

MOST = 8  # pairs


def pairs(facts: Facts) -> tuple[str, ...]:
    """ "kernel:1:2", the pairs that people confuse most easily first: neighbours, and buffers before numbers."""
    launches, found = facts.launches, {}
    functions = facts.kernels.functions(launches.kernel_row)
    for function in dict.fromkeys(functions[functions >= 0].tolist()):
        some = np.flatnonzero((functions == function) & (launches.status == 0))
        if len(some):
            name = launches.compiled_name(int(some[0]))
            for rank, first, second in _of_launch(facts, int(some[0])):
                found[f"{name}:{first}:{second}"] = rank
    return tuple(sorted(found, key=lambda one: found[one]))[:MOST]


def _of_launch(facts: Facts, row: int) -> Iterator[tuple[tuple[int, bool], int, int]]:
    for one, other in combinations(facts.launches.values(row), 2):
        if one["bytes"] != other["bytes"] and _alike(facts, one, other):
            yield (int(other["index"]) - int(one["index"]), one["object"] < 0), int(one["index"]), int(other["index"])


def _alike(facts: Facts, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same type; buffers of the same size, so that no access leaves one that did not before."""
    a, b = one["declared"], other["declared"]
    if a is None or b is None or (a.type, a.space, a.qualifiers, a.size) != (b.type, b.space, b.qualifiers, b.size):
        return False
    sizes = facts.objects.table["size"]
    if one["object"] >= 0 and other["object"] >= 0:
        return bool(sizes[one["object"]] == sizes[other["object"]])
    return bool(one["object"] < 0 and other["object"] < 0 and a.scalar and one["size"] == other["size"])
