"""A cause: what is wrong in general; a finding says where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpudx.model.cause_kinds import WHERE, Kind
from gpudx.model.diagnosis import Prediction


@dataclass(frozen=True)
class Cause:
    """`kind` brings what all causes of a family predict for each experiment; `apart` what this one predicts differently, and
    `predicts` says in its own words what is seen. `settled_by` says which run would turn "likely" into "confirmed". `about` is its
    documentation, where no detector of the same name has it.
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

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """What is expected, by experiment."""
        every = {one.experiment: one for one in (*self.kind.predicts, *self.apart)}
        for experiment, text in self.predicts:
            expects = every[experiment].expects if experiment in every else "may change"
            every[experiment] = Prediction(experiment, expects, text)
        return every
