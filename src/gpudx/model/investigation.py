"""An investigation: the runs that were made, what each cause predicted for them, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.diagnosis import Diagnosis, Expectation, OutcomeName, Status
from gpudx.model.fields import LATER

Stop = Literal[
    "",  # goes on
    "settled",
    "budget used up",
    "runs used up",
    "nothing left that separates them",
    "the failure did not reproduce",
    "nothing to investigate",
    "interrupted",
    "no fault found",
]
# What the first run showed: it decides which experiments come first ("": not classified, only rates are compared).
FailureClass = Literal["", "settled", "device error", "crash", "hang", "wrong result", "no failure"]
Weight = Literal["for", "against", "nothing"]
Given = tuple[tuple[str, str], ...]  # options of a command line, ("--runs", "9"), ("--perturb", "")


@dataclass(frozen=True)
class Trial:
    """One run of one experiment. `ending` is how the program ended ("signal:SIGSEGV"), `outcome` what that means here."""

    experiment: str
    outcome: OutcomeName
    ending: str
    seconds: float
    fingerprints: tuple[str, ...] = ()  # of the errors that were found in it
    shown: tuple[str, ...] = ()  # causes that its instrument named, and the plain runs did not
    blind: str = ""  # what its instrument could not look at
    folder: str = ""  # in the case directory, relative; "" is the case's own first run
    note: str = ""
    output: str = field(default="", metadata=LATER)  # sha256 of what it printed
    fresh: str = field(default="", metadata=LATER)  # the pattern that fresh memory held
    given: str = field(default="", metadata=LATER)  # digest of all that devices gave it, if known
    change: str = field(default="", metadata=LATER)  # of the program, in words: "arguments 1 and 2 of kernel scale swapped"


@dataclass(frozen=True)
class Failure:
    """What counts as the failure: a fault of one of these fingerprints in a run that failed, or this error of the device,
    whichever call reports it; else this very ending."""

    ending: str
    summary: str
    fingerprints: tuple[str, ...] = ()
    device_error: str = ""


@dataclass(frozen=True)
class Cell:
    """A cause against an experiment: predicted, observed, and what that says."""

    experiment: str
    expects: Expectation
    observed: str
    weight: Weight
    why: str


@dataclass(frozen=True)
class Row:
    """A cause in the table; `suggested` by a finding, or a rival that was raised to be refuted."""

    cause: str
    status: Status
    suggested: bool
    cells: tuple[Cell, ...]
    reason: str


@dataclass(frozen=True)
class Asked:
    """Experiments that need the user's words: they are run if these are given, whatever they separate."""

    vary: str = ""  # NAME=v1,v2,...; the plain runs have the last value
    rebuild: str = ""  # a shell command that builds another flavour of the program
    revision: str = ""
    build: str = ""  # a shell command that builds the program of that revision
    wait_at: str = ""  # kernels by name, with * and ?, or launches by number; several with commas
    probes: tuple[str, ...] = field(default=(), metadata=LATER)  # marks to look for in plain runs: no experiment

    check: str = field(default="", metadata=LATER)  # a shell command that fails where the run's result is wrong
    compare: str = field(default="", metadata=LATER)  # a good copy of what it prints, or FILE=GOOD
    expect: str = field(default="", metadata=LATER)  # a regular expression that good output matches

    @property
    def judges(self) -> bool:
        """Do they say what a wrong result is?"""
        return bool(self.check or self.compare or self.expect)

    @property
    def name(self) -> str:
        """Of what is varied."""
        return self.vary.partition("=")[0]

    @property
    def values(self) -> tuple[str, ...]:
        """That it takes, in the order given."""
        return _listed(self.vary.partition("=")[2])

    @property
    def launches(self) -> tuple[str, ...]:
        """At which the recorder waits."""
        return _listed(self.wait_at)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (one.strip() for one in text.split(","))))


# Why an experiment for programs of another kind was not run: that says nothing about this one, so reports leave it out.
NOT_CUDA = "the program makes no CUDA calls"
NOT_HIP = "the program makes no HIP calls"
NOT_TORCH = "the program does not use PyTorch"
NO_SETTING = "no runtime that the program uses has such a setting"
NO_DUMP = "only CUDA's driver and ROCm's debug agent write dumps of the device"
NO_RED_ZONE = "only HIP has memory with a red zone instead of fences"
OTHER_PROGRAMS = frozenset({NOT_CUDA, NOT_HIP, NOT_TORCH, NO_SETTING, NO_DUMP, NO_RED_ZONE})


@dataclass(frozen=True)
class Investigation:
    """All that is needed to go on where it stopped: the trials, and what the runs themselves gave. The rest follows."""

    confidence: float
    trials: tuple[Trial, ...] = ()
    failure: Failure | None = None
    before: tuple[
        Diagnosis, ...
    ] = ()  # of the first run that failed, as `gpudx run` would have told it; else of one that passed
    found: tuple[Diagnosis, ...] = ()  # of later runs: causes that only they showed
    stopped: Stop = ""
    reason: str = ""
    table: tuple[Row, ...] = ()
    not_run: tuple[tuple[str, str], ...] = ()  # experiments that cannot be run here, and why
    folder: str = ""  # where the program is run
    program: str = ""  # sha256 of the file that is started
    command: tuple[str, ...] = field(default=(), metadata=LATER)  # as it was given, {NAME} not filled in
    asked: Asked = field(default=Asked(), metadata=LATER)
    told: tuple[str, ...] = field(default=(), metadata=LATER)  # by the experiments that were asked for
    options: Given = field(default=(), metadata=LATER)  # that `gpudx investigate` was given
    symptom: FailureClass = field(default="", metadata=LATER)
    notes: tuple[str, ...] = field(default=(), metadata=LATER)  # what breaks a rule and that no outcome depends on, in sentences
    also: tuple[Diagnosis, ...] = field(default=(), metadata=LATER)  # causes of a second failure that is unlike the first
