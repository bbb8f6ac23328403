"""Where the calls of a verdict were made from, taken from a later run that recorded it (--stacks) and had the same finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from gpudx.model import Diagnosis, Guilty, Site

S = TypeVar("S", Site, Guilty)


def with_callers(known: Diagnosis, told: Iterable[Diagnosis]) -> Diagnosis:
    """The entry with the stacks of the first of `told` that is the same finding; as it was where none is."""
    same = next((one for one in told if _is_same(known, one)), None)
    if same is None:
        return known
    return replace(known, guilty=_filled(known.guilty, same.guilty), root=_filled(known.root, same.root))


def _is_same(known: Diagnosis, other: Diagnosis) -> bool:
    """Call numbers differ where stacks are recorded; launches are counted alike."""
    launches = [(one.guilty.kernel, one.guilty.launch) if one.guilty else None for one in (known, other)]
    return known.cause == other.cause and bool(set(known.findings) & set(other.findings)) and launches[0] == launches[1]


def _filled(known: S | None, other: S | None) -> S | None:
    if known is None or other is None or known.host_stack or known.source != other.source:
        return known
    return replace(known, host_stack=other.host_stack)
