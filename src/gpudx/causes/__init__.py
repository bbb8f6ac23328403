"""All causes by id. One that has a detector of its own is declared there (`CAUSE`, or `CAUSES` for several); the others are in the
catalogue. Detectors suggest causes by id; the judge in gpudx.diagnose decides between them.
"""

from __future__ import annotations

from functools import cache

from gpudx import detectors
from gpudx.causes.catalogue import CAUSES
from gpudx.model import Cause

__all__ = ["Cause", "every"]


@cache
def every() -> dict[str, Cause]:
    """By id, in alphabetical order."""
    declared = [one for module in detectors.every() for one in _declared(module)]
    return {one.id: one for one in sorted([*CAUSES, *declared], key=lambda cause: cause.id)}


def _declared(module: object) -> tuple[Cause, ...]:
    one: Cause | None = getattr(module, "CAUSE", None)
    several: tuple[Cause, ...] = getattr(module, "CAUSES", ())
    return (*([one] if one else []), *several)
