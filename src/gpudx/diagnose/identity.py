"""Is this the failure that is being looked for, or another one?"""

from __future__ import annotations

from gpudx.model import Case, Failure
from gpudx.model.diagnosis import OutcomeName

FAILED = ("exit", "signal", "timeout")
WHO_RAN = ("probe-absent", "stale-executable")  # they say what ran, not how it failed


def faults(case: Case) -> tuple[str, ...]:
    """The fingerprints of the faults that a run's diagnosis holds."""
    told = [entry for entry in case.diagnosis if entry.status in ("confirmed", "likely") and entry.cause not in WHO_RAN]
    return tuple(dict.fromkeys(mark for entry in told for mark in entry.findings))


def failure(case: Case) -> Failure | None:
    """What a run failed of; None when it passed."""
    return Failure(case.outcome.word, case.outcome.summary, faults(case)) if case.outcome.kind in FAILED else None


def outcome(case: Case, wanted: Failure | None) -> OutcomeName:
    """What a run means for the failure that is looked for. The first failure is the one that is looked for.

    Faults in common make it the same, however it ended: a race ends differently each time. Without known faults on one of
    the sides the ending decides.
    """
    if any(one.failed and one.name == "recorder" for one in case.instruments) and wanted and wanted.fingerprints:
        return "tool missing"
    if case.outcome.kind == "not started":
        return "not reached"
    if case.outcome.kind == "passed":
        return "passed"
    if wanted is None or _same(case, wanted):
        return "reproduced"
    return "timeout" if case.outcome.kind == "timeout" else "another failure"


def _same(case: Case, wanted: Failure) -> bool:
    mine = set(faults(case))
    if mine and wanted.fingerprints:
        return bool(mine & set(wanted.fingerprints))
    return case.outcome.word == wanted.ending
