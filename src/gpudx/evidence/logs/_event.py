"""What a log tells of at one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpudx.model import DeviceFault, Finding, Guilty

# fault    the device, or a tool that watches it, tells of the fault itself
# report   a call tells of an error that earlier work on the device made: an interval, never a line
# refusal  a call was refused for what it was given: the line is the right one
# ending   how a process or a test ended; what made it end may be elsewhere
Role = Literal["fault", "report", "refusal", "ending"]
Site = tuple[object, ...]
LONGEST_QUOTE = 300
NOT_UNDERSTOOD = "not-understood"  # the kind of lines that read like a failure and belong to no format


@dataclass(frozen=True)
class Event:
    """`facts` tell sites apart and make the fingerprint: no addresses, threads or line numbers of the log."""

    kind: str  # "illegal-address": the finding's id is "log-" and this
    role: Role
    message: str  # one sentence: what it means
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # decoded numbers, and what the line does not prove
    causes: tuple[str, ...] = ()
    next: str = ""  # the command that would settle it
    noticed: str = ""  # of a report: the call or line that printed it
    covers: int = 0  # so many of the following lines belong to it: generic formats do not read them
    sure: bool = True  # of a fault or refusal: does the log itself show the first of `causes`?
    warning: bool = False  # worth a look, no failure
    finding: Finding | None = None  # where a parser of the tool's own format has made one
    fault: DeviceFault | None = None  # what a recorded run can be asked about: the address, above all
    line: int = 0  # set by the scan unless the format knows better
    quote: str = ""
    format: str = ""
    fix: tuple[str, ...] = ()  # where more is known than what fixes the cause in general
    kernels: tuple[str, ...] = ()  # of a fault that names none: those that it can be, by their bare names
    clock: str = ""  # which clock stamped its line: only stamps of the same one can be compared
    time: float = 0.0  # seconds of that clock
    context: tuple[tuple[str, str], ...] = ()  # the log's own words: rank, step, test, operation, model, device
    guilty: Guilty | None = None  # only where the log and the sources it names prove it

    @property
    def site(self) -> Site:
        """What tells events apart: those of one site are one finding, with a count."""
        return (self.format, self.kind, self.facts, self.finding.fingerprint if self.finding else "")


@dataclass(frozen=True)
class Compiled:
    """A source file that a compiler was called for, as the log names it."""

    path: str
    folder: str = ""  # that the build was in, where it says so
    options: tuple[str, ...] = ()
