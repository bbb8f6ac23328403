"""Folding: a fault that was seen a million times is told once, with its count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 50  # so many different faults of one kind are told
I64 = NDArray[np.int64]
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing


def groups(rows: I64, *keys: NDArray[Any]) -> list[I64]:
    """`rows` split where `keys` (one value per row) differ: at most MOST parts, that with the earliest row first."""
    if not len(rows):
        return []
    codes = _codes(len(rows), keys)
    order = np.argsort(codes)
    codes, rows = codes[order], rows[order]
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    end = np.append(first[1:], len(rows))
    chosen = np.argsort(np.minimum.reduceat(rows, first), kind="stable")[:MOST]
    return [np.sort(rows[first[i] : end[i]]) for i in chosen]


def _codes(count: int, keys: tuple[NDArray[Any], ...]) -> NDArray[np.uint64]:
    """The keys of each row mixed into one number: one sort of numbers is many times faster than one by several keys."""
    codes = np.zeros(count, np.uint64)
    for key in keys:
        codes = (codes ^ key.astype(np.int64).view(np.uint64)) * SPREAD
        codes ^= codes >> np.uint64(29)
    return codes
