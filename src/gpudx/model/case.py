"""A case: one failure under investigation, the only input of every report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpudx.model.diagnosis import Diagnosis, Observation, OutcomeName, Verdict
from gpudx.model.fields import LATER
from gpudx.model.finding import Finding

if TYPE_CHECKING:  # what only some cases have: casefile.field_types names these again
    from gpudx.model.bisection import Bisection
    from gpudx.model.flake import Flake
    from gpudx.model.identity import Identity
    from gpudx.model.investigation import Investigation
    from gpudx.model.occupancy import Built
    from gpudx.model.verification import Verification

SCHEMA = "gpudx.case/1"

# How the names of instruments that watch a run begin.
WATCHERS = ("recorder", "compute-sanitizer", "fence", "poison", "watch", "contracts")

# How the sentence about kernels with images begins among what was not checked.
UNCHECKED_IMAGES = "Accesses to images"
# What is between the name of a kernel or program, and the reason, in sentences about those that did not check themselves.
UNCHECKED_KERNELS = " ran without checks: "
NOTHING_CHECKED = "no kernel was checked: "  # how the sentence begins where that holds for all of them

OutcomeKind = Literal["passed", "exit", "signal", "timeout", "not started"]
InstrumentState = Literal["live", "not live", "missing"]


@dataclass(frozen=True)
class Outcome:
    """How the program ended. `summary` is the sentence for it."""

    kind: OutcomeKind
    summary: str
    exit_code: int | None = None
    signal: str | None = None
    fault_address: str | None = None
    duration_s: float = 0.0
    said: str = field(default="", metadata=LATER)  # its last complaint, else its last line, where gpudx kept its output
    complaint: str = field(default="", metadata=LATER)  # the line that makes it a failure, of a program that exits with 0

    @property
    def failed(self) -> bool:
        """Did the program fail? One that was never started did not."""
        return self.kind in ("exit", "signal", "timeout")

    @property
    def passed(self) -> bool:
        return self.kind == "passed"

    @property
    def observed(self) -> OutcomeName:
        """The same as the outcome of an experiment."""
        if self.kind == "timeout":
            return "timeout"
        return "reproduced" if self.failed else "passed" if self.passed else "not reached"

    @property
    def failed_itself(self) -> bool:
        """Did the program fail, and not only end because gpudx ended it?"""
        return self.failed and self.word != "ended"

    @property
    def word(self) -> str:
        """ "signal:SIGSEGV", "exit:1", "passed", "timeout", "ended" by gpudx."""
        if self.kind == "signal":
            return f"signal:{self.signal}" if self.signal else "ended"
        return f"exit:{self.exit_code}" if self.kind == "exit" else self.kind


@dataclass(frozen=True)
class Instrument:
    """One means of observation: was it there, how do we know, what did it see?"""

    name: str
    state: InstrumentState
    saw: str
    version: str = ""
    blind: str = field(default="", metadata=LATER)  # what it should have looked at and could not
    gave: str = field(default="", metadata=LATER)  # digest of all that came to the program, if known

    @property
    def watches(self) -> bool:
        """Is it there to find faults? Others only say what stood in the way."""
        return self.name.startswith(WATCHERS)

    @property
    def failed(self) -> bool:
        """Should it have watched the run, and did not? Then finding nothing means nothing."""
        return self.watches and self.state != "live"


@dataclass(frozen=True)
class ProcessInfo:
    """One process that was recorded, and how complete its record is."""

    pid: int
    ppid: int
    command: str
    trace: str  # file in the case directory, relative
    calls: int
    launches: int
    gaps: tuple[str, ...] = ()
    ended: str = ""
    ended_at: float | None = field(default=None, metadata=LATER)  # seconds after the first recorded call of the run
    signal: str = field(default="", metadata=LATER)  # that it died of, where that is known
    status: int | None = field(default=None, metadata=LATER)  # that it exited with, where that is known

    rank: str = field(default="", metadata=LATER)  # the number that a launcher gave it

    @property
    def failed(self) -> bool:
        """Did it die of a signal, or exit with another status than 0?"""
        return bool(self.signal or self.status)

    @property
    def how(self) -> str:
        """ "SIGSEGV", "exit status 1", "" if it is not known to have failed."""
        return self.signal or (f"exit status {self.status}" if self.status else "")


def first_rank_to_fail(processes: tuple[ProcessInfo, ...]) -> ProcessInfo | None:
    """Of a job with several ranks."""
    ranked = [one for one in processes if one.rank]
    failed = [one for one in ranked if one.failed and one.ended_at is not None] if len(ranked) > 1 else []
    return min(failed, key=lambda one: one.ended_at or 0.0, default=None)


@dataclass(frozen=True)
class Case:
    """Everything a report says comes from here; nothing here comes from a report."""

    command: tuple[str, ...]
    directory: str
    created: str  # ISO 8601, UTC
    version: str
    outcome: Outcome
    instruments: tuple[Instrument, ...] = ()
    processes: tuple[ProcessInfo, ...] = ()
    findings: tuple[Finding, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    observations: tuple[Observation, ...] = ()
    not_checked: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    schema: str = SCHEMA
    hypotheses: tuple[Verdict, ...] = field(default=(), metadata=LATER)  # what the user stated, and how it stands
    investigation: Investigation | None = field(default=None, metadata=LATER)
    kernels: tuple[Built, ...] = field(default=(), metadata=LATER)  # as compilers told of them
    identity: Identity | None = field(default=None, metadata=LATER)  # who ran, with what
    # The variables of its environment that drivers, loaders and frameworks read.
    surroundings: dict[str, str] = field(default_factory=dict, metadata=LATER)
    flake: Flake | None = field(default=None, metadata=LATER)
    verification: Verification | None = field(default=None, metadata=LATER)  # `gpudx verify`: is a fix a fix?
    bisection: Bisection | None = field(default=None, metadata=LATER)  # `gpudx bisect`: which revision broke it
