"""Folding: a fault that was seen a million times is told once, with its count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 50  # so many different faults of one kind are told
I64 = NDArray[np.int64]


def groups(rows: I64, *keys: NDArray[Any]) -> list[I64]:
    """`rows` split where `keys` (one value per row) differ: at most MOST parts, that with the earliest row first."""
    if not len(rows):
        return []
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(rows), bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    first = np.flatnonzero(new)
    end = np.append(first[1:], len(rows))
    sorted_rows = rows[order]
    chosen = np.argsort(sorted_rows[first], kind="stable")[:MOST]
    return [sorted_rows[first[i] : end[i]] for i in chosen]
