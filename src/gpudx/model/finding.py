"""A finding: one fault that a detector or an evidence parser saw, with what it saw."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Site:
    """One API call of the program: where something was done, refused, or left open.

    `number` counts the recorded calls of the process from 1, in order of time; with a wrapped ring it is the
    number among what was kept. `line` is "file:line" when debug information gives it.
    """

    call: str
    number: int
    pid: int
    tid: int
    api: str = ""
    kernel: str | None = None
    launch: int | None = None
    argument: int | None = None
    argument_name: str | None = None
    value: str | None = None
    status: str | None = None
    source: str | None = None
    host_stack: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """One observed fact: what was seen, and the calls it was seen in (empty: seen outside any call)."""

    text: str
    calls: tuple[int, ...] = ()
    raw: str | None = None  # file in the case directory, relative, where the observation can be read


@dataclass(frozen=True)
class Finding:
    """What a detector saw. No evidence, no finding.

    `facts` are the parts that do not change between runs (names, indexes, sizes; no addresses or thread ids):
    they make the fingerprint, so that the same fault has the same fingerprint on another day and machine.
    """

    id: str  # detector id, for example "value-is-not-a-handle"
    severity: Severity
    message: str
    evidence: tuple[Evidence, ...]
    site: Site | None = None
    others: tuple[Site, ...] = ()  # second sites: the other thread, the release, the followers
    allocation: str | None = None  # "buffer #7" style name of the allocation concerned
    causes: tuple[str, ...] = ()  # cause ids it suggests, most likely first
    facts: tuple[tuple[str, str], ...] = ()
    details: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    count: int = 1  # how often the same fault was seen; sites after the first are folded

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"finding {self.id} without evidence")

    @property
    def fingerprint(self) -> str:
        """Equal for equal faults across runs, addresses and machines. Algorithm "1"."""
        text = "\n".join([self.id, *(f"{k}={v}" for k, v in sorted(self.facts))])
        return "1:" + hashlib.sha256(as_written(text).encode()).hexdigest()[:16]


def as_written(text: str) -> str:
    """Names may hold bytes that are no text: here as they read in a case, so that a case that was read has the same
    fingerprints."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
