"""Equal causes have equal fingerprints; different ones do not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "casefile"))
from sample_cases import DIAGNOSIS, FINDING, FULL, PASSED

from gpudx.model import Case, Diagnosis, Evidence, Finding, Outcome, Scope, Severity
from gpudx.model.fingerprint import fingerprint, is_same, parts, plain_kernel

assert DIAGNOSIS.guilty is not None and FINDING.site is not None
GUILTY = DIAGNOSIS.guilty


def told(entry: Diagnosis, **more: object) -> Case:
    return replace(FULL, diagnosis=(entry,), **more)


def guilty(**more: object) -> Case:
    return told(replace(DIAGNOSIS, guilty=replace(GUILTY, **more)))


BASE = guilty()


@pytest.mark.parametrize(
    "same",
    [
        guilty(number=9, launch=2, value="0x7f12", source="elsewhere/gpu.c:999", host_stack=()),
        guilty(allocation=None),
        guilty(argument_name=None),
        guilty(kernel="void restore_q4_0<float, 128>(float*)"),
        told(DIAGNOSIS, outcome=Outcome("passed", "Fine.", 0)),
        told(DIAGNOSIS, outcome=Outcome("signal", "x", None, "SIGBUS", "0x1", 9.0)),
        told(DIAGNOSIS, directory="/other", created="2030", command=("b",), processes=()),
        told(replace(DIAGNOSIS, status="likely")),
        told(DIAGNOSIS, findings=(FINDING,)),
    ],
)
def test_the_same(same: Case) -> None:
    assert fingerprint(same) == fingerprint(BASE)
    assert fingerprint(BASE).startswith("2:")


@pytest.mark.parametrize(
    "other",
    [
        guilty(kernel="other"),
        guilty(argument=2),
        guilty(call="clFinish"),
        told(replace(DIAGNOSIS, cause="use-after-free")),
        told(replace(DIAGNOSIS, findings=())),
        PASSED,
    ],
)
def test_not_the_same(other: Case) -> None:
    assert fingerprint(other) != fingerprint(BASE)


def test_without_a_cause_the_ending_counts() -> None:
    ended = [Outcome("exit", "x", 3), Outcome("signal", "x", None, "SIGSEGV"), Outcome("passed", "x", 0)]
    cases = [replace(FULL, diagnosis=(), findings=(), outcome=one) for one in ended]
    assert len({fingerprint(case) for case in cases}) == 3
    assert dict(parts(cases[0], "1")) == {"ending": "exit:3", "detectors": ""}


def bare(*command: str, findings: tuple[Finding, ...] = (), diagnosis: tuple[Diagnosis, ...] = ()) -> Case:
    """A run that failed for reasons that nobody knows."""
    outcome = Outcome("exit", "It ended.", 1)
    return replace(FULL, command=command, outcome=outcome, findings=findings, diagnosis=diagnosis)


def log(*findings: Finding) -> Case:
    return replace(bare("gpudx", "explain", "x.log", findings=findings), outcome=Outcome("not started", "No program."))


def seen(name: str, severity: Severity = "warning", scope: Scope = "fault", **facts: str) -> Finding:
    return Finding(name, severity, "It is so.", (Evidence("seen"),), facts=tuple(facts.items()), scope=scope)


def test_failures_without_a_cause_are_told_apart() -> None:
    absent = Diagnosis("recorder-not-loaded", "inconclusive", "Not loaded.", None, None, (), "", ())
    unlike = [
        bare("false"),
        bare("/srv/static-app", diagnosis=(absent,)),
        bare("python3", "-u", "one.py"),
        bare("python3", "-u", "two.py"),
        bare("app"),
        bare("app", findings=(seen("odd-one"),)),
        bare("app", findings=(seen("odd-two"),)),
        bare("app", findings=(seen("broken", "error", call="a"),)),
        bare("app", findings=(seen("broken", "error", call="b"),)),
        log(),
        log(seen("log-spill")),
    ]
    assert len({fingerprint(case) for case in unlike}) == len(unlike)


def test_what_changes_from_run_to_run_does_not_count() -> None:
    """Where the program lies, its options, notes, and how often a warning was seen."""
    one = bare("/a/app", "--fast", findings=(seen("odd"),))
    two = bare("/b/app", findings=(replace(seen("odd"), count=9), seen("environment-note", scope="note")))
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(log(seen("log-spill"))) == fingerprint(
        replace(log(seen("log-spill")), command=("gpudx", "explain", "y"))
    )


def test_fingerprints_of_the_first_algorithm_stay_comparable() -> None:
    old = fingerprint(BASE, "1")
    assert old.startswith("1:") and is_same(BASE, old) and is_same(BASE, fingerprint(BASE))
    assert not is_same(guilty(kernel="other"), old) and not is_same(BASE, "7:00")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("gemm", "gemm"),
        ("void a::gemm<float, b<3>>(float*, int)", "a::gemm"),
        ("(anonymous namespace)::k<1>", "k"),
        ("odd>name", "odd>name"),
        ("operator<", "operator<"),
        ("", ""),
    ],
)
def test_kernel_names(name: str, plain: str) -> None:
    assert plain_kernel(name) == plain
