"""The verdict on a case: its status, its colour, and the sentence for it. Apart from the outline, which takes longer to import: the list of
cases needs no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gpudx.report.brief import RECORDER, SEVERITIES, blind_recorder, calls_made, counted, eventful, watched
from gpudx.text import capital, plural

if TYPE_CHECKING:
    from gpudx.model import Case, Finding

Tone = Literal["bad", "unsure", "good"]
READ = ("log ", "code ")  # how the names of what was only read begin: logs, and files of device code
INSEPARABLE = "nothing left that separates them"
UNFINISHED = ("runs used up", "budget used up", "interrupted")
VERDICTS = {
    "confirmed": "CONFIRMED",
    "likely": "LIKELY",
    "inconclusive": "INCONCLUSIVE",
    "refuted": "REFUTED",
}


def verdict(case: Case) -> tuple[str, Tone, str]:
    """The status in capitals, its colour, and the sentence for it."""
    if case.flake:
        from gpudx.report import flake

        return flake.verdict(case.flake)
    if case.verification or case.bisection:
        from gpudx.report import revisions

        if compared := revisions.verdict(case):
            return compared
    dead = next((one for one in case.instruments if one.failed and one.name != RECORDER), None)
    if case.diagnosis:
        best = case.diagnosis[0]
        tone: Tone = "bad" if best.status == "confirmed" else "unsure"
        rate = f" {case.investigation.reason}" if case.investigation and best.status != "confirmed" else ""
        return f"{VERDICTS[best.status]} {best.cause}", tone, best.summary + rate
    if only_read(case):
        return _read(case)
    if case.investigation and case.investigation.stopped:
        return _stopped(case), "unsure", case.investigation.reason
    if not eventful(case):
        return *_nothing(case), capital(watched(case))
    if dead and not any(finding.severity == "error" for finding in case.findings):
        return "NOT CHECKED", "unsure", f"{case.outcome.summary} {capital(dead.name)} did not work. {dead.saw}"
    if any(finding.severity == "error" for finding in case.findings):
        return "FAULTS SEEN", "unsure", f"{counted(case)} and no single cause that explains the outcome."
    if case.outcome.passed:
        return "PASSED", "unsure", f"The program passed, with {counted(case)}."
    return "NO CAUSE FOUND", "unsure", f"{case.outcome.summary} {capital(watched(case))}"


def _stopped(case: Case) -> str:
    """Why an investigation ended without a cause, as a status."""
    state = case.investigation
    assert state is not None
    warnings = sum(one.severity != "info" for one in case.findings)
    if state.stopped == "no fault found" and warnings:
        return f"NO FAILURE, {plural(warnings, 'WARNING', 'WARNINGS')}"
    if state.stopped == "the failure did not reproduce":
        return f"NO FAILURE in {plural(len(state.trials), 'run')}"
    if state.stopped in UNFINISHED and state.symptom == "no failure" and state.failure is None:
        return "NO FAULT FOUND SO FAR"
    return "NO CAUSE FOUND" if state.stopped in (*UNFINISHED, "settled", INSEPARABLE) else state.stopped.upper()


def only_read(case: Case) -> bool:
    """Was nothing run, and only read?"""
    return bool(case.instruments) and all(one.name.startswith(READ) for one in case.instruments)


def most_telling(case: Case) -> Finding | None:
    """Of what was read: the first of the most severe; how a process ended says less than anything else."""
    ranks = [severity for severity, _, _ in SEVERITIES]
    return min(
        case.findings,
        key=lambda one: (ranks.index(one.severity), bool(one.written and one.written.role == "ending")),
        default=None,
    )


def _read(case: Case) -> tuple[str, Tone, str]:
    """Logs or code without a diagnosis: what stands for itself, or that nothing is known."""
    told = most_telling(case)
    if told is None and case.kernels:
        return (
            "KERNELS READ",
            "good",
            f"{plural(len(case.kernels), 'kernel')} without a warning. {case.outcome.summary}",
        )
    if told is None:
        return "NOTHING RECOGNISED", "unsure", case.outcome.summary
    return "EVENTS SEEN" if told.severity == "info" else "PROBLEMS FOUND", "unsure", told.message


def _nothing(case: Case) -> tuple[str, Tone]:
    """Nothing found, nothing to find, and nobody looking are three different things."""
    if blind_recorder(case):
        return "NOT WATCHED", "unsure"
    return ("NO FAULT FOUND", "good") if calls_made(case) else ("NO GPU CALLS", "unsure")
