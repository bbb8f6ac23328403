"""Which revision brought a failure in: what was tried, and what came of it. Kept as `bisect.json` in the case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BISECTION = "gpudx.bisect/1"

Verdict = Literal["good", "bad", "skip"]


@dataclass(frozen=True)
class Tried:
    """One revision: `failed` of `runs` runs had the failure that is looked for."""

    revision: str
    title: str
    verdict: Verdict
    why: str
    runs: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Bisection:
    """The whole of it. `first_bad` is None when only revisions that could not be judged are left."""

    good: str
    bad: str
    failure: str  # in words
    fingerprints: tuple[str, ...]
    tried: tuple[Tried, ...] = ()
    first_bad: str | None = None
    title: str = ""
    candidates: tuple[str, ...] = ()  # where it is one of these
    ended: str = ""  # why it ended, in a sentence
    schema: str = BISECTION
