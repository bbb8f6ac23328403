"""How often simulations and fuzzing repeat themselves, and which combinations are tried: a part, unless GPUDX_SLOW=1 asks for all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

SLOW = bool(os.environ.get("GPUDX_SLOW"))


def times(full: int) -> int:
    """The number of repetitions of this run."""
    return full if SLOW else max(1, full // 10)


def crossed(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value of each axis occurs; with GPUDX_SLOW=1 all of them."""
    if SLOW:
        return list(product(*axes))
    longest = max(map(len, axes))
    return [tuple(axis[number % len(axis)] for axis in axes) for number in range(longest)]
