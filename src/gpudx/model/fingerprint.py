"""What a failure is, in a name that is the same on another day, machine and revision.

Made of the cause, the guilty kernel or call, the argument, and how the program failed: nothing that changes from run to run.
Addresses, process numbers, times and launch numbers do; sizes and lines do from revision to revision.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gpudx.model.case import Case
from gpudx.model.diagnosis import Diagnosis

VERSION = "1"  # of the algorithm: fingerprints of different versions do not compare
CLASSES = {"signal": "crash", "exit": "failure", "timeout": "hang", "passed": "passed", "not started": "not started"}
COUNTED = ("confirmed", "likely", "inconclusive")


@dataclass(frozen=True)
class Identity:
    """The parts of a fingerprint; "" for what is not known."""

    cause: str = ""
    kernel: str = ""
    call: str = ""  # only where no kernel is known
    argument: str = ""
    failure: str = ""  # crash, failure, hang, passed
    known: bool = False  # is the cause confirmed or likely?

    def same_as(self, other: Identity) -> bool:
        """Is it the same failure? Where both causes are known it may end differently: a race does, from run to run."""
        if self.known and other.known:
            return self.parts[:-1] == other.parts[:-1]
        return self.parts == other.parts

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.cause, self.kernel, self.call, self.argument, self.failure)

    @property
    def text(self) -> str:
        """For people: "out-of-bounds-access in kernel gemm, argument 2 (crash)"."""
        where = f" in kernel {self.kernel}" if self.kernel else f" in {self.call}" if self.call else ""
        argument = f", argument {self.argument}" if self.argument else ""
        return f"{self.cause or 'no known cause'}{where}{argument} ({self.failure})"


def identity(case: Case) -> Identity:
    """What a case is known by: the first entry of its diagnosis that still stands."""
    failure = CLASSES.get(case.outcome.kind, case.outcome.kind)
    best = next((entry for entry in case.diagnosis if entry.status in COUNTED), None)
    return _of(best, failure) if best else Identity(failure=failure)


def _of(entry: Diagnosis, failure: str) -> Identity:
    guilty, known = entry.guilty, entry.status in ("confirmed", "likely")
    if guilty is None:
        return Identity(entry.cause, failure=failure, known=known)
    call = "" if guilty.kernel else guilty.call
    argument = "" if guilty.argument is None else str(guilty.argument)
    return Identity(entry.cause, guilty.kernel or "", call, argument, failure, known)


def fingerprint(case: Case) -> str:
    """ "1:0123456789abcdef": equal for equal failures."""
    text = "\n".join(identity(case).parts)
    return f"{VERSION}:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
