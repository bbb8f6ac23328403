"""Conditions by what they have in common: one test at a time, or several."""

from __future__ import annotations

from gpudx.flake.asking import Records
from gpudx.model.flake import ALONE, MANY, ONE, PLAIN, REVERSED, SHUFFLED, Condition


def reference(records: Records) -> Condition:
    """One test at a time, in the suite's own order."""
    return ONE if records.has(ONE) else PLAIN


def crowded(records: Records) -> Condition:
    """Tests at the same time."""
    return MANY if records.has(MANY) else PLAIN


def in_sequence(records: Records) -> tuple[str, ...]:
    """One test after another."""
    plain = () if records.suite.plain_parallel else (PLAIN,)
    return tuple(c.name for c in (ONE, *plain, SHUFFLED, REVERSED) if records.has(c))


def apart(records: Records) -> tuple[str, ...]:
    """One test at a time, in whatever process."""
    return (*in_sequence(records), ALONE.name)


def together(records: Records) -> tuple[str, ...]:
    """Tests at the same time, in whatever number."""
    plain = (PLAIN,) if records.suite.plain_parallel else ()
    return tuple(c.name for c in (MANY, *plain) if records.has(c))
