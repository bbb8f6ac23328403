"""How often simulations and fuzzing repeat themselves: a tenth of the full number, unless GPUDX_SLOW=1 asks for all."""

from __future__ import annotations

import os

SLOW = bool(os.environ.get("GPUDX_SLOW"))


def times(full: int) -> int:
    """The number of repetitions of this run."""
    return full if SLOW else max(1, full // 10)
