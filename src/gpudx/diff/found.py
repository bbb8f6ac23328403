"""A difference as it is found in two processes, before it is known where it stands among all."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.model.comparison import Aspect

NOT_THERE = "not there"


@dataclass(frozen=True)
class Found:
    """What it was and is, and the calls (positions) that show it; None where there is none."""

    aspect: Aspect
    where: str
    was: str
    now: str
    good: int | None
    bad: int | None
