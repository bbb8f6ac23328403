"""Equal causes have equal fingerprints; different ones do not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "casefile"))
from sample_cases import DIAGNOSIS, FINDING, FULL, PASSED

from gpudx.model import Case, Diagnosis, Outcome, fingerprint
from gpudx.model.fingerprint import parts, plain_kernel

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
    assert fingerprint(BASE).startswith("1:")


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
    assert dict(parts(cases[0])) == {"ending": "exit:3", "detectors": ""}


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
