"""Is this the failure that is being looked for, or another one?"""

from __future__ import annotations

from gpudx.backends.cuda.sanitizer import NAME as SANITIZER
from gpudx.model import Case, Failure
from gpudx.model.diagnosis import OutcomeName

WHO_RAN = ("probe-absent", "stale-executable")  # they say what ran, not how it failed


def faults(case: Case) -> tuple[str, ...]:
    """The fingerprints of the faults that a run's diagnosis holds."""
    told = [entry for entry in case.diagnosis if entry.status in ("confirmed", "likely") and entry.cause not in WHO_RAN]
    return tuple(dict.fromkeys(mark for entry in told for mark in entry.findings))


def device_error(case: Case) -> str:
    """The status by which a fault of the device's work was reported; "" if none was."""
    reports = [finding.site for finding in case.findings if finding.reports_device_error and finding.site]
    return reports[0].status or "" if reports else ""


def failed(case: Case) -> bool:
    """A program that goes on after an error of the device has failed, whatever its exit status."""
    return case.outcome.failed or bool(device_error(case))


def failure(case: Case) -> Failure | None:
    """What a run failed of; None when it passed."""
    if not failed(case):
        return None
    return Failure(case.outcome.word, case.outcome.summary, faults(case), device_error(case))


def outcome(case: Case, wanted: Failure | None) -> OutcomeName:
    """What a run means for the failure that is looked for. The first failure is the one that is looked for.

    Faults in common make it the same, however it ended: a race ends differently each time. So does the same error of the
    device: which call reports it is chance. Without known faults on one of the sides the ending decides.
    """
    if any(one.failed and one.name == "recorder" for one in case.instruments) and wanted and wanted.fingerprints:
        return "tool missing"
    if case.outcome.kind == "not started":
        return "not reached"
    if not failed(case):
        return "passed"
    if wanted is None or _same(case, wanted):
        return "reproduced"
    return "timeout" if case.outcome.kind == "timeout" else "another failure"


def _same(case: Case, wanted: Failure) -> bool:
    mine = set(faults(case))
    if mine & set(wanted.fingerprints):
        return True
    if wanted.device_error:
        return device_error(case) == wanted.device_error or (_is_sanitized(case) and _ended_alike(case, wanted))
    return not (mine and wanted.fingerprints) and case.outcome.word == wanted.ending


def _is_sanitized(case: Case) -> bool:
    """The tool stops a faulty kernel itself, and the program is told of it by another status."""
    return any(one.name.startswith(SANITIZER) for one in case.instruments)


def _ended_alike(case: Case, wanted: Failure) -> bool:
    return bool(device_error(case)) or case.outcome.word == wanted.ending
