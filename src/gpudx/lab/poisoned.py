"""Fresh memory with a pattern in it: what `gpudx run --poison` asks the recorder for (native/core/poison.h has the patterns)."""

from __future__ import annotations

from collections.abc import Mapping

from gpudx.errors import UserError
from gpudx.lab import unpooled

POISON = "GPUDX_POISON"
PATTERNS = ("cb", "nan", "4b", "zero")
UNLIKE = ("zero", "cb", "4b")  # at zero, below and above it, in every type; the last run shows what came back


def wanted(pattern: str) -> str:
    """The pattern that was asked for, if there is such a one."""
    if pattern not in PATTERNS:
        raise UserError(
            f"There is no pattern {pattern!r}: give --poison, or --poison=NAME with one of {', '.join(PATTERNS)}."
        )
    return pattern


def environment(pattern: str, base: Mapping[str, str]) -> dict[str, str]:
    """The variable for the recorder, and those under which frameworks pass each allocation on to the driver."""
    return {POISON: pattern, **unpooled.environment(base)}
