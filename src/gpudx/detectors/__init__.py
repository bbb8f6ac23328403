"""One file per fault that can be seen in facts.

A detector is a module here with

    a docstring          what the fault is, why it is bad, an example, how to fix it: the documentation page
    ID                   its stable name, equal to the file's name with dashes; it states the fault, never the cure
    detect(facts, run)   yields findings; it reads facts and nothing else. Or, for what is of a run and not of one of its processes:
    examine(identity, run)   the same of who ran, with what
    NEEDS_EVERY_CALL     true if it concludes from a call that is missing: silent where calls may have gone unrecorded
    NEEDS_EVERY_WRITE    true if it concludes from a write that is missing: silent where functions that are not recorded may have written

Adding a file adds a detector. `run` says how the program ended, so that a detector can tell a failure that mattered
from one that the program dealt with.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from gpudx.detectors._provoked import without_provoked
from gpudx.detectors._related import with_causes
from gpudx.errors import survived
from gpudx.facts import Facts
from gpudx.model import Finding, Identity, Outcome


@dataclass(frozen=True)
class Run:
    """How the run ended, as far as detectors may care."""

    outcome: Outcome

    @property
    def failed(self) -> bool:
        return self.outcome.failed_itself


@cache
def every() -> tuple[ModuleType, ...]:
    """All detectors, by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def detect_all(facts: Facts, run: Run) -> Iterator[Finding]:
    """The findings of all detectors about one process."""
    detectors = [one for one in every() if hasattr(one, "detect") and not _is_missing_calls(one, facts)]
    found = [finding for detector in detectors for finding in _found(detector, "detect", facts, run)]
    yield from with_causes([*without_provoked(facts, found, crashed=run.outcome.signal is not None)])


def _is_missing_calls(detector: ModuleType, facts: Facts) -> bool:
    calls, writes = getattr(detector, "NEEDS_EVERY_CALL", False), getattr(detector, "NEEDS_EVERY_WRITE", False)
    return bool((calls and facts.misses_calls) or (writes and facts.writers.unrecorded))


def examine_all(identity: Identity, run: Run) -> Iterator[Finding]:
    """The findings about who ran, with what."""
    for detector in every():
        if hasattr(detector, "examine"):
            yield from _found(detector, "examine", identity, run)


def _found(detector: ModuleType, look: str, *at: object) -> list[Finding]:
    return survived(f"Detector {detector.ID}", lambda: list(getattr(detector, look)(*at)), [])
