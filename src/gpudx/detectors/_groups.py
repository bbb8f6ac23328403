"""Folding: a fault that was seen a million times is reported once, with its count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.codes import mixed

MOST = 50  # so many different faults of one kind are told
I64 = NDArray[np.int64]


def groups(rows: I64, *keys: NDArray[Any]) -> list[I64]:
    """`rows` split where `keys` (one value per row) differ: at most MOST parts, that with the earliest row first."""
    if not len(rows):
        return []
    codes = mixed(len(rows), [key.astype(np.int64).view(np.uint64) for key in keys])
    order = np.argsort(codes)
    codes, rows = codes[order], rows[order]
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    end = np.append(first[1:], len(rows))
    chosen = np.argsort(np.minimum.reduceat(rows, first), kind="stable")[:MOST]
    return [np.sort(rows[first[i] : end[i]]) for i in chosen]
