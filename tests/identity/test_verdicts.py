"""What is said of who ran comes before, and never instead of, what is said of the failure."""

from __future__ import annotations

from dataclasses import replace

from gpudx.diagnose import diagnose
from gpudx.investigate.same_failure import faults
from gpudx.model import Case, Evidence, Finding, Identity, Interval, Outcome, Probe, Site, Symptom
from gpudx.report.brief import needs_report
from gpudx.report.outline import outline

EXIT = Outcome("exit", "The program exited with status 1.", 1)
SITE = Site("enqueue", 9, 100, 1, status="BAD")
FAILED = Finding("failed-call", "error", "enqueue failed.", (Evidence("it said so"),), SITE, causes=("failed-call",),
                 scope="symptom", symptom=Symptom("failed call"))  # fmt: skip
REPORTED = Finding(
    "device-error-reported",
    "error",
    "A wait reported it.",
    (Evidence("it said so"),),
    SITE,
    causes=("device-error-reported",),
    scope="symptom",
    symptom=Symptom("device error", interval=Interval(2, 0)),
)
HANDLE = Finding(
    "value-is-not-a-handle", "error", "No handle.", (Evidence("e"),), SITE, causes=("value-is-not-a-handle",)
)
ABSENT = Finding("probe-absent", "error", "It is absent.", (Evidence("searched"),), causes=("stale-executable",),
                 scope="program", certainty="observed")  # fmt: skip
STALE = Finding(
    "object-older-than-sources",
    "warning",
    "It is old.",
    (Evidence("older"),),
    causes=("stale-executable",),
    scope="program",
    certainty="inferred",
)
PROVEN = replace(STALE, severity="error", certainty="recorded")


def causes(*findings: Finding, outcome: Outcome = EXIT) -> list[tuple[str, str]]:
    return [(entry.cause, entry.status) for entry in diagnose(findings, outcome)]


def test_an_absent_probe_comes_first() -> None:
    assert causes(HANDLE, FAILED, ABSENT)[:2] == [
        ("stale-executable", "confirmed"),
        ("value-is-not-a-handle", "confirmed"),
    ]
    assert [cause for cause, _ in causes(REPORTED, ABSENT)] == ["stale-executable", "device-error-reported"]
    assert causes(ABSENT, outcome=Outcome("passed", "")) == [("stale-executable", "confirmed")]


def test_an_absent_probe_hides_nothing_that_failed() -> None:
    assert ("failed-call", "likely") in causes(FAILED, ABSENT)


def test_the_same_cause_is_told_once() -> None:
    assert [cause for cause, _ in causes(FAILED, ABSENT, STALE)] == ["stale-executable", "failed-call"]


def test_an_old_program_is_no_reason_for_a_failure() -> None:
    assert causes(FAILED, STALE) == [("failed-call", "likely"), ("stale-executable", "inconclusive")]
    assert causes(STALE) == [("stale-executable", "inconclusive")]
    assert causes(STALE, outcome=Outcome("passed", "")) == []


def test_another_checksum_is_likely_at_most() -> None:
    assert causes(FAILED, PROVEN) == [("failed-call", "likely"), ("stale-executable", "likely")]
    assert ("device-error-reported", "inconclusive") in causes(REPORTED, PROVEN)
    assert causes(HANDLE, FAILED, PROVEN)[0] == ("value-is-not-a-handle", "confirmed")


def test_who_ran_is_not_what_a_failure_is_known_by() -> None:
    case = Case((), "", "", "", EXIT, findings=(ABSENT,), diagnosis=diagnose([ABSENT], EXIT))
    assert faults(case) == ()


def test_probes_are_told_first() -> None:
    fired = Probe("MARK", "text", "fired", "The probe 'MARK' fired once: stdout line 1.", 1)
    absent = Probe("NONE", "text", "absent", "Nothing has it.")
    case = Case((), "/case", "", "", Outcome("passed", "It passed."), identity=Identity(probes=(fired, absent)))
    assert needs_report(case) and not needs_report(replace(case, identity=Identity()))
    first = outline(case).sections[0]
    assert first.heading == "Probes"
    assert [text.split()[0] for text in first.blocks[0].items] == ["ABSENT", "FIRED"]  # type: ignore[union-attr]
