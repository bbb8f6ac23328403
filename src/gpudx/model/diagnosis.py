"""From findings to verdicts: hypotheses, experiments, what was observed, and the diagnosis a reader gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.fields import LATER
from gpudx.model.finding import Access, Allocation, Evidence, Site
from gpudx.model.how import Ways

Status = Literal["confirmed", "likely", "refuted", "inconclusive"]
OutcomeName = Literal["reproduced", "passed", "another failure", "timeout", "tool missing", "not reached"]
Expectation = Literal["stays", "gone", "rarer", "more often", "shown", "may show", "may go", "may change"]


@dataclass(frozen=True)
class Prediction:
    """What should be seen in an experiment if a cause is the true one.

    "stays", "gone", "rarer" and "more often" speak of the failure's rate; "shown" says that the experiment's instrument names
    this fault; "may show" says that it names it where the device tells enough, and "may go" that the failure goes if this is all
    that is wrong, so these two can come true and not fail; "may change" forbids nothing, so it can neither come true nor fail.
    """

    experiment: str
    expects: Expectation
    text: str


@dataclass(frozen=True)
class Observation:
    """What an experiment showed: `reproduced` of `runs` runs failed in the same way. A rate, never a boolean.

    Only runs that ended this way or passed are `runs`; the others are counted by their names.
    """

    experiment: str
    outcome: OutcomeName
    reproduced: int
    runs: int
    note: str = ""
    low: float = field(
        default=0.0, metadata=LATER
    )  # the rates that are compatible with this, at the investigation's confidence
    high: float = field(default=1.0, metadata=LATER)
    others: tuple[tuple[str, int], ...] = field(
        default=(), metadata=LATER
    )  # runs that say nothing of the rate, by what they were
    shown: tuple[str, ...] = field(default=(), metadata=LATER)  # causes that the experiment's instrument named
    fingerprints: tuple[str, ...] = field(default=(), metadata=LATER)  # of what failed
    ways: Ways = field(default=Ways(), metadata=LATER)  # of a run of `gpudx run`


@dataclass(frozen=True)
class Hypothesis:
    """A cause, put to the test: what it predicts per experiment and what would refute it. Of a user's hypothesis `cause` is
    the name it has in its file."""

    cause: str
    summary: str
    predicts: tuple[Prediction, ...]
    refutes_if: str
    findings: tuple[str, ...]  # fingerprints of the findings that suggested it


@dataclass(frozen=True)
class Verdict:
    """How a hypothesis stands, with the evidence that counted and that did not, and why."""

    hypothesis: Hypothesis
    status: Status
    counted: tuple[Evidence, ...]
    not_counted: tuple[Evidence, ...]
    reason: str


@dataclass(frozen=True)
class Guilty:
    """What did it: the call, and as much of launch, argument, buffer and line as is known."""

    api: str
    call: str
    number: int | None = None
    kernel: str | None = None
    launch: int | None = None
    argument: int | None = None
    argument_name: str | None = None
    value: str | None = None
    allocation: Allocation | None = None
    source: str | None = None
    host_stack: tuple[str, ...] = ()

    @staticmethod
    def at(site: Site, allocation: Allocation | None) -> Guilty:
        """The call of a site, with its launch and argument, and the memory that it is about."""
        return Guilty(
            api=site.api,
            call=site.call,
            number=site.number,
            kernel=site.kernel,
            launch=site.launch,
            argument=site.argument,
            argument_name=site.argument_name,
            allocation=allocation,
            source=site.source,
            host_stack=site.host_stack,
        )


@dataclass(frozen=True)
class Victim:
    """Where the error surfaced; often not where it was made."""

    description: str
    site: Site | None = None


@dataclass(frozen=True)
class Diagnosis:
    """One entry of the report, best first. `case.json` carries these fields as they are."""

    cause: str
    status: Status
    summary: str
    guilty: Guilty | None
    victim: Victim | None
    evidence: tuple[Evidence, ...]
    refutes_if: str
    fix: tuple[str, ...]
    reason: str = ""
    findings: tuple[str, ...] = ()  # fingerprints
    not_counted: tuple[Evidence, ...] = ()
    observed: bool = field(default=False, metadata=LATER)  # an instrument saw the act itself
    access: Access | None = field(default=None, metadata=LATER)
    root: Site | None = field(default=None, metadata=LATER)  # the call to change, where it is not the guilty one
    processes: tuple[int, ...] = field(default=(), metadata=LATER)  # that have it; empty: not of a process
