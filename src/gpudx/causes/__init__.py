"""All causes by id. One that has a detector of its own is declared there (`CAUSE`, or `CAUSES` for several); the others are in the
catalogue. Detectors suggest causes by id; the judge in gpudx.diagnose decides between them.
"""

from __future__ import annotations

from functools import cache

from gpudx import detectors
from gpudx.causes.catalogue import CAUSES
from gpudx.model import Cause
from gpudx.model.cause import Tells

__all__ = ["Cause", "every", "tells"]


@cache
def every() -> dict[str, Cause]:
    """By id, in alphabetical order."""
    declared = [one for module in detectors.every() for one in _declared(module)]
    return {one.id: one for one in sorted([*CAUSES, *declared], key=lambda cause: cause.id)}


def tells(cause: str) -> Tells:
    """What is known with the cause of this name."""
    known = every().get(cause)
    return known.tells if known else "why"


def _declared(module: object) -> tuple[Cause, ...]:
    one: Cause | None = getattr(module, "CAUSE", None)
    several: tuple[Cause, ...] = getattr(module, "CAUSES", ())
    return (*([one] if one else []), *several)
