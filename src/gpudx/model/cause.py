"""A cause: what is wrong in general; a finding says where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpudx.model.cause_kinds import WHERE, Kind
from gpudx.model.diagnosis import Prediction

# What is known with a cause. "why": the reason. "access": only that a kernel accessed what it may not. "memory": also which memory
# that was. "timing": only that timing decides. "condition": only what a kernel demands, not the value that breaks it.
Tells = Literal["why", "access", "memory", "timing", "condition"]


@dataclass(frozen=True)
class Cause:
    """`kind` brings what all causes of a family predict for each experiment; `apart` what this one predicts differently, and
    `predicts` says in its own words what is seen. `settled_by` says which run would turn "likely" into "confirmed". `about` is its
    documentation, where no detector of the same name has it. `fix` and `settled_by` hold for every API; what names a function or a
    tool of one API is in `fix_of` and `settled_of`, as (API, text), and is shown to programs of that API only.
    """

    id: str
    title: str
    refutes_if: str
    fix: tuple[str, ...]
    predicts: tuple[tuple[str, str], ...] = ()
    settled_by: str = ""
    kind: Kind = WHERE
    apart: tuple[Prediction, ...] = ()
    about: str = ""
    fix_of: tuple[tuple[str, str], ...] = ()
    settled_of: tuple[tuple[str, str], ...] = ()
    tells: Tells = "why"

    def steps(self, api: str) -> tuple[str, ...]:
        """What to do in a program of this API ("": it is not known)."""
        return (*self.fix, *(text for name, text in self.fix_of if name == api))

    def settled(self, api: str) -> str:
        """Which run would settle it, "" if none is known."""
        return " or ".join(filter(None, [self.settled_by, *(text for name, text in self.settled_of if name == api)]))

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """What is expected, by experiment."""
        every = {one.experiment: one for one in (*self.kind.predicts, *self.apart)}
        for experiment, text in self.predicts:
            expects = every[experiment].expects if experiment in every else "may change"
            every[experiment] = Prediction(experiment, expects, text)
        return every
