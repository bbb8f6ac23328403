"""A lab without processes: each experiment fails, or shows a cause, with a probability that the test chooses."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudx.investigate.loop import Result
from gpudx.investigate.observed import PLAIN
from gpudx.lab.experiments import every, mitigations
from gpudx.lab.trials import Interrupted
from gpudx.model import Diagnosis, Evidence, Failure, Investigation, Trial
from gpudx.model.diagnosis import OutcomeName

FAILURE = Failure("exit:1", "The program exited with status 1.", ("1:aa",))
ON_OPENCL = ("fenced", "low-fenced", "one-processor", "one-thread", "perturbed", "poisoned", "serialised", "turns")


def suggests(cause: str, status: str = "likely") -> Diagnosis:
    """A diagnosis of a plain run."""
    return Diagnosis(cause, status, f"{cause}.", None, None, (Evidence("seen"),), "", (), findings=("1:aa",))  # type: ignore[arg-type]


@dataclass
class FakeLab:
    """`fails` by experiment; others fail as the plain one does. `shows`: what an instrument names when it fails."""

    fails: Mapping[str, float]
    suggested: tuple[Diagnosis, ...] = ()
    shows: Mapping[str, str] = field(default_factory=dict)
    not_reached: tuple[str, ...] = ()
    blind: str = ""
    seed: int = 0
    threads: int = 8
    launches: int = 100
    experiments: tuple[str, ...] = ON_OPENCL
    seconds: float = 1.0
    interrupt_at: int | None = None
    quiet_from: int | None = None  # the machine changes, and nothing fails any more
    asked: tuple[str, ...] = ()
    is_chosen: bool = False
    spent: float = 0.0
    made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def costs(self) -> Mapping[str, float]:
        return {name: float(every()[name].COST) for name in self.experiments}

    @property
    def mitigations(self) -> frozenset[str]:
        return mitigations()

    @property
    def not_run(self) -> Mapping[str, str]:
        return {}

    def elapsed(self) -> float:
        return self.spent

    def run(self, experiment: str, state: Investigation) -> Result:
        if self.interrupt_at is not None and len(self.made) >= self.interrupt_at:
            raise Interrupted
        self.made.append(experiment)
        self.spent += self.seconds
        failed = self.random.random() < self.fails.get(experiment, self.fails[PLAIN])
        failed = failed and (self.quiet_from is None or len(self.made) <= self.quiet_from)
        outcome: OutcomeName = "reproduced" if failed else "passed"
        shown = (self.shows[experiment],) if failed and experiment in self.shows else ()
        if experiment in self.not_reached:
            outcome = "not reached"
        marks = FAILURE.fingerprints if failed else ()
        trial = Trial(experiment, outcome, "exit:1" if failed else "passed", self.seconds, marks, shown, self.blind)
        return Result(trial, self.suggested, FAILURE if failed and experiment == PLAIN else None)
