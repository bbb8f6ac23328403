"""The causes that an investigation decides between: those that findings suggest, and rivals of every other kind.

A verdict is worth what it won against, so families of causes that nothing suggests are raised too, where they are conceivable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpudx.causes import Cause, tells
from gpudx.causes import every as every_cause
from gpudx.diagnose.judge import ORDER
from gpudx.lab.experiments import base
from gpudx.model import Diagnosis, Expectation, Investigation, Status
from gpudx.model.cause_kinds import RIVALS, WHERE


@dataclass(frozen=True)
class Suspect:
    """A cause that is put to the test. `entry` is the diagnosis that named it; a rival has none.

    `late`: only an experiment named it. One such run is not enough to call it the cause of the plain runs' failure.
    """

    cause: Cause
    entry: Diagnosis | None = None
    late: bool = False
    certain: bool = False  # a run's own record confirmed it

    @property
    def prior(self) -> Status:
        """How it stands without any experiment."""
        if self.entry is None:
            return "inconclusive"
        late = self.late and not self.entry.observed  # an access that an instrument saw is there, in whichever run
        return "likely" if late and self.entry.status == "confirmed" else self.entry.status

    def expects(self, experiment: str) -> Expectation:
        found = self.cause.predictions.get(base(experiment))
        return found.expects if found else "may change"

    @property
    def shown_as(self) -> tuple[str, ...]:
        """Causes whose being shown shows this one: a rival stands for all of its kind."""
        if self.entry:
            return (self.cause.id,)
        return tuple(cause.id for cause in every_cause().values() if cause.kind is self.cause.kind)


def suspects(state: Investigation, threads: int, launches: int, runnable: Collection[str] = ()) -> tuple[Suspect, ...]:
    """All of them, suggested ones first. A diagnosis that only says where it surfaced suggests no cause."""
    named: dict[str, Suspect] = {}
    for entry in best_entries(state).values():
        cause = every_cause().get(entry.cause)
        if cause is not None and _is_suspect(cause, entry):
            certain = any(one.cause == cause.id and one.status == "confirmed" for one in (*state.before, *state.found))
            named[cause.id] = Suspect(cause, entry, not _is_of_plain_run(entry, state), certain)
    kinds = {suspect.cause.kind.name for suspect in named.values()}
    return (*named.values(), *_rivals(kinds, threads, launches, runnable))


def _is_of_plain_run(entry: Diagnosis, state: Investigation) -> bool:
    """Did the plain run name it, too: the same finding of the same cause, if only as likely?"""
    return any(one is entry or (one.cause == entry.cause and set(one.findings) & set(entry.findings)) for one in state.before)


def best_entries(state: Investigation) -> dict[str, Diagnosis]:
    """By cause, in the order in which causes were first named: the entry of all runs that shows most."""
    best: dict[str, Diagnosis] = {}
    for entry in (*state.before, *state.found):
        known = best.get(entry.cause)
        if known is None or shows(entry) > shows(known):
            best[entry.cause] = entry
    return best


def shows(entry: Diagnosis) -> tuple[int, bool, bool, bool, int, bool]:
    """How firm it is, whether an instrument saw the act itself, and its address, whether a race matters in any order,
    how much of launch, argument and memory is known, and whether the Python line is."""
    guilty = entry.guilty
    parts = (guilty.launch, guilty.argument, guilty.allocation) if guilty else ()
    known = sum(part is not None for part in parts)
    loses = entry.access is not None and entry.access.conflict not in ("", "read and store")
    return -ORDER[entry.status], entry.observed, not by_page(entry), loses, known, has_python_line(entry)


def by_page(entry: Diagnosis) -> bool:
    """Is only the page of an access known, from the driver, and neither address nor line nor why it went there?"""
    unnamed = entry.guilty is None or entry.guilty.argument is None
    return entry.access is not None and entry.access.seen_by == "driver" and (tells(entry.cause) == "access" or unnamed)


def has_python_line(entry: Diagnosis) -> bool:
    return entry.guilty is not None and any(line.endswith("(python)") for line in entry.guilty.host_stack)


def _is_suspect(cause: Cause, entry: Diagnosis) -> bool:
    return cause.kind is not WHERE and not (cause.kind.needs_record and entry.status == "inconclusive")


def _rivals(kinds: set[str], threads: int, launches: int, runnable: Collection[str]) -> Iterator[Suspect]:
    for kind in RIVALS:
        conceivable = (threads > 1 or not kind.needs_threads) and (launches > 0 or not kind.needs_launches)
        conceivable = conceivable and (not kind.needs or kind.needs in runnable)
        if kind.name not in kinds and conceivable:
            yield Suspect(every_cause()[kind.rival])
