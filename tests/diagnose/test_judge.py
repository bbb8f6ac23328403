"""The judge's table: certainty, attribution and the relation to the symptom decide, not the name of a detector."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.diagnose import diagnose
from gpudx.model import (
    Access,
    Allocation,
    Attribution,
    Certainty,
    Evidence,
    Finding,
    Interval,
    Outcome,
    ProcessInfo,
    Site,
    Status,
    Symptom,
)

PASSED = Outcome("passed", "It ended normally.", 0)
CRASHED = Outcome("signal", "It was killed by SIGSEGV.", None, "SIGSEGV")
EXITED = Outcome("exit", "It exited with status 1.", 1)


def site(number: int, pid: int = 7, status: str | None = None, launch: int | None = None) -> Site:
    return Site("someCall", number, pid, pid, "api", launch=launch, status=status, value="0x10")


def fault(number: int = 5, pid: int = 7, **more: object) -> Finding:
    """Of a detector that the judge has never heard of."""
    found = Finding("brand-new", "error", "It is wrong.", (Evidence("It was seen."),), site(number, pid), pid=pid)
    return replace(found, **{"causes": ("brand-new",), **more})  # type: ignore[arg-type]


def symptom(what: Symptom, number: int = 9, pid: int = 7, **more: object) -> Finding:
    name = what.kind.replace(" ", "-")
    found = Finding(name, "error", f"A {what.kind}.", (Evidence("It failed."),), site(number, pid), pid=pid)
    return replace(found, causes=(name,), scope="symptom", symptom=what, **more)  # type: ignore[arg-type]


def reported(**interval: object) -> Finding:
    """A device error whose work began after call 3, and which call 9 reported."""
    what = Interval(
        launches=1, ended_before=3, single=True, complete=True, said="a kernel accessed memory that it may not"
    )
    what = replace(what, cause="out-of-bounds-access", **interval)  # type: ignore[arg-type]
    return symptom(Symptom("device error", interval=what), others=(site(5, launch=1),))


def status(*findings: Finding, outcome: Outcome = EXITED) -> Status:
    """How the fault stands, which is the first of the findings."""
    return next(one for one in diagnose(findings, outcome) if one.cause == "brand-new").status


@pytest.mark.parametrize("outcome", [PASSED, EXITED])
@pytest.mark.parametrize(
    ("attribution", "expected"),
    [
        ("this", "confirmed"),
        ("kernel", "confirmed"),
        ("probable", "likely"),
        ("one of", "likely"),
        ("unknown", "inconclusive"),
    ],
)
def test_what_was_observed_stands_by_whose_act_it_was(
    attribution: Attribution, expected: Status, outcome: Outcome
) -> None:
    assert status(fault(certainty="observed", attribution=attribution), outcome=outcome) == expected


def test_an_observed_fault_brings_its_own_reason() -> None:
    seen = fault(certainty="observed", because="The bytes were found.")
    assert diagnose([seen], PASSED)[0].reason == "The bytes were found."
    untied = diagnose([seen], EXITED)[0].reason
    assert untied == "The bytes were found. No run was made without it: the program may fail for another reason as well."


def test_an_access_that_is_the_crash_needs_no_more() -> None:
    access = Access(address=0x1000, seen_by="fence")
    seen = fault(certainty="observed", because="It was stopped.", access=access)
    crash = symptom(Symptom("crash"), access=Access(address=0x1000, seen_by="signal"))
    assert diagnose([seen, crash], CRASHED)[0].reason == "It was stopped."


@pytest.mark.parametrize(
    ("finding", "where", "outcome", "expected"),
    [
        (fault(), (), PASSED, "confirmed"),
        (fault(), (), EXITED, "likely"),
        (fault(site=site(5, status="BAD_VALUE")), (), EXITED, "likely"),
        (fault(9), (symptom(Symptom("crash in call", decoded="value 0x10 + 0x8")),), CRASHED, "confirmed"),
        (fault(9), (symptom(Symptom("crash in call", decoded="queue 0x7f10 + 0x8")),), CRASHED, "likely"),  # of another value
        (fault(9), (symptom(Symptom("crash in call")),), CRASHED, "likely"),
        (fault(9), (symptom(Symptom("crash in call", thread_known=False)),), CRASHED, "likely"),
        (fault(9), (symptom(Symptom("failed call")),), EXITED, "confirmed"),
        (fault(others=(site(9, status="BAD"),)), (symptom(Symptom("failed call")),), EXITED, "confirmed"),
        (fault(), (symptom(Symptom("failed call")),), EXITED, "likely"),
        (fault(inevitable=True, others=(site(9, launch=2),)), (symptom(Symptom("crash in call")),), CRASHED, "confirmed"),
        (fault(inevitable=True, others=(site(8, launch=1),)), (symptom(Symptom("crash in call")),), CRASHED, "likely"),  # in another launch
        (fault(others=(site(9, launch=2),)), (symptom(Symptom("crash in call")),), CRASHED, "likely"),  # that could have survived it
        (
            fault(inevitable=True, others=(site(9, launch=2),)),
            (symptom(Symptom("crash in call", thread_known=False)),),
            CRASHED,
            "likely",
        ),
        (fault(5, pid=8), (symptom(Symptom("crash in call")),), CRASHED, "inconclusive"),
        (fault(), (reported(),), EXITED, "likely"),
        (fault(3), (reported(),), EXITED, "inconclusive"),
        (fault(11), (reported(),), EXITED, "inconclusive"),
        (fault(inevitable=True), (reported(),), EXITED, "confirmed"),
        (fault(inevitable=True), (reported(launches=2),), EXITED, "likely"),
        (fault(), (reported(),), PASSED, "likely"),  # the device failed, whatever the exit status says
        (fault(severity="warning"), (), EXITED, "inconclusive"),
        (fault(certainty="inferred"), (), EXITED, "inconclusive"),
    ],
)
def test_what_was_recorded_stands_by_its_relation_to_the_symptom(
    finding: Finding, where: tuple[Finding, ...], outcome: Outcome, expected: Status
) -> None:
    assert status(finding, *where, outcome=outcome) == expected


def test_a_survived_fault_says_so() -> None:
    assert diagnose([fault()], PASSED)[0].reason == (
        "The fault is visible in the trace, whether or not a run survives it."
    )


def test_a_buffer_that_is_too_small_is_confirmed_by_the_access_outside_it() -> None:
    small = fault(severity="warning", allocation=Allocation("buffer #3", 64, needed=80))
    stopped = fault(causes=("out-of-bounds-access",), certainty="observed", allocation=Allocation("buffer #3", 64))
    other = replace(stopped, allocation=Allocation("buffer #4", 64))
    passing = replace(small, severity="error")
    assert status(passing, stopped) == "confirmed"
    assert status(passing, other) == "likely"


def test_an_error_code_alone_confirms_no_cause() -> None:
    """The launch is certain; whether it was out of bounds is not."""
    (told,) = diagnose([reported()], EXITED)
    assert told.status == "likely" and told.guilty is not None and told.guilty.launch == 1
    assert "the status alone does not say" in told.reason
    (short,) = diagnose([reported(short="argument 0 is too small")], EXITED)
    assert short.status == "confirmed"


def test_notes_never_hide_faults() -> None:
    note = fault(4, scope="note", severity="warning", causes=())
    (told,) = diagnose([note, fault()], PASSED)
    assert told.cause == "brand-new"


@pytest.mark.parametrize(
    ("certainty", "expected"), [("observed", "confirmed"), ("recorded", "likely"), ("inferred", "inconclusive")]
)
def test_which_program_ran(certainty: Certainty, expected: Status) -> None:
    assert status(fault(scope="program", certainty=certainty)) == expected


@pytest.mark.parametrize(("severity", "first"), [("warning", "hang"), ("error", "brand-new")])
def test_a_warning_does_not_hide_the_launch_that_did_not_end(severity: str, first: str) -> None:
    found = diagnose((fault(severity=severity), symptom(Symptom("hang"))), Outcome("timeout", "It timed out.", None))
    assert found[0].cause == first


def test_another_program_than_was_meant_comes_first() -> None:
    other = fault(scope="program", certainty="observed", causes=("stale-executable",))
    told = diagnose([fault(certainty="observed"), other], EXITED)
    assert [entry.cause for entry in told] == ["stale-executable", "brand-new"]


# ---- several processes ----


def process(pid: int, at: float | None, signal: str = "", status: int | None = None) -> ProcessInfo:
    return ProcessInfo(pid, 1, "./worker", f"traces/{pid}.gdx", 9, 2, ended_at=at, signal=signal, status=status)


def crash_of(pid: int) -> tuple[Finding, Finding]:
    return fault(9, pid), symptom(Symptom("crash in call", decoded="value 0x10"), 9, pid)


def test_the_same_fault_of_two_workers_is_confirmed_once() -> None:
    processes = [process(6, 4.0), process(7, 2.5, "SIGSEGV"), process(8, 2.0, "SIGSEGV")]
    (told,) = diagnose([*crash_of(7), *crash_of(8)], EXITED, processes)
    assert told.status == "confirmed" and told.processes == (8, 7)
    said = told.evidence[-1].text
    assert said.startswith("seen in 2 of 3 recorded processes: 7 (SIGSEGV) and 8 (SIGSEGV)")
    assert said.endswith("process 8 failed first")


def test_processes_that_only_followed_are_named() -> None:
    processes = [process(7, 2.0, "SIGSEGV"), process(8, None, "killed inside a call"), process(9, 3.0, status=1)]
    (told,) = diagnose([*crash_of(7)], EXITED, processes)
    assert [one.text for one in told.evidence[-2:]] == [
        "1 process failed after it: 9 (exit status 1)",
        "1 process was killed: 8",
    ]


def test_what_failed_first_comes_first() -> None:
    """Two unlike faults: the process that died first is blamed first, whatever its number."""
    other = replace(fault(9, 8), id="other", causes=("other",), facts=(("a", "b"),))
    crash = symptom(Symptom("crash in call", decoded="value 0x10"), 9, 8)
    told = diagnose([*crash_of(7), other, crash], EXITED, [process(7, 5.0, "SIGSEGV"), process(8, 2.0, "SIGSEGV")])
    assert [entry.cause for entry in told] == ["other", "brand-new"]
    assert {entry.status for entry in told} == {"confirmed"}


def test_a_fault_in_a_process_that_did_not_fail_is_not_blamed() -> None:
    told = diagnose(
        [fault(5, 8), symptom(Symptom("crash in call"))], CRASHED, [process(7, 1.0, "SIGSEGV"), process(8, 2.0)]
    )
    assert {(entry.cause, entry.status) for entry in told} == {
        ("brand-new", "inconclusive"),
        ("crash-in-call", "inconclusive"),
    }


def test_a_program_that_gpudx_ended_did_not_fail() -> None:
    """A run under a tool is ended when the tool has reported: what the record only suspects is no more likely for that."""
    ended = Outcome("signal", "gpudx ended the program after 1 s: the tool had reported its faults.")
    assert ended.word == "ended" and ended.failed and not ended.failed_itself
    assert Outcome("signal", "It died.", signal="SIGSEGV").failed_itself and not Outcome("passed", "It ended.", 0).failed_itself
