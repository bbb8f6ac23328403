"""Sums and products of sizes that stay at the largest number: a hostile size must not come out small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
MOST = np.uint64(np.iinfo(np.uint64).max)


def times(left: U64, right: U64) -> U64:
    too_large = (right != 0) & (left > MOST // np.maximum(right, np.uint64(1)))
    return np.where(too_large, MOST, left * right)


def plus(left: U64, right: U64) -> U64:
    return np.where(left > MOST - right, MOST, left + right)
