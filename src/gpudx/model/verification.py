"""Is a fix a fix? The runs that say so, and what they say. Kept as `verify.json` in the case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.rates import Interval

VERIFICATION = "gpudx.verify/1"
PASSED = "passed"

Condition = Literal["before", "after", "revert"]
Answer = Literal["a fix", "a placebo", "mitigates", "another failure", "not shown to be the cause", "inconclusive"]


@dataclass(frozen=True)
class Question:
    """What is compared, and how sure one wants to be. `revert` may be missing from the commands."""

    commands: dict[Condition, tuple[str, ...]]  # words of the form NAME=value in front are for the environment
    folder: str  # where they are run
    confidence: float
    at_least: int = 1  # rounds, even if fewer would do
    timeout: float | None = None  # seconds for one run
    lot: int = 0  # decides who goes first in each round
    programs: dict[Condition, str] = field(default_factory=dict)  # sha256 of the file that each command starts

    @property
    def level(self) -> float:
        """The probability of a wrong answer that is put up with."""
        return 1 - self.confidence


@dataclass(frozen=True)
class Trial:
    """One run, as far as it counts."""

    condition: Condition
    round: int
    ending: str  # "passed", "exit:3", "signal:SIGSEGV" or "timeout"
    faults: tuple[str, ...] = ()  # fingerprints of its diagnosis, best first
    summary: str = ""
    watched: bool = True  # was the recorder in the program?
    duration_s: float = 0.0
    folder: str = ""  # in the case

    @property
    def failed(self) -> bool:
        """Did the program itself end badly?"""
        return self.ending != PASSED

    @property
    def names(self) -> tuple[str, ...]:
        """What its failure is known by: the diagnosis where there is one, else the ending."""
        return self.faults or (self.ending,)


@dataclass(frozen=True)
class Count:
    """How often a condition failed, with the rates that are compatible with it at every look."""

    condition: Condition
    runs: int
    old: int  # the failure that is to be fixed
    other: int  # other failures
    interval: Interval  # of all failures


@dataclass(frozen=True)
class Judgement:
    """The answer, the sentence for it, and why."""

    answer: Answer
    summary: str
    because: tuple[str, ...]
    counts: tuple[Count, ...]


@dataclass(frozen=True)
class Verification:
    """The whole of it; `judgement` is None until there is one."""

    question: Question
    trials: tuple[Trial, ...] = ()
    judgement: Judgement | None = None
    schema: str = VERIFICATION
