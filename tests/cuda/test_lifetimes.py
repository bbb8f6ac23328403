"""Lifetimes, events and captures: a program on the fake driver (no GPU), recorded, and what the detectors make of it."""

from __future__ import annotations

import pytest
from cuda_kit import Kit
from test_findings import findings


def test_a_correct_program_is_silent(kit: Kit) -> None:
    assert not findings(kit.run([kit.program("lifetimes")]))


@pytest.mark.parametrize(
    ("what", "expected", "severity", "said"),
    [
        ("never", "wait-for-unrecorded-event", "warning", "because event #1 was never recorded"),
        ("late", "wait-for-unrecorded-event", "warning", "because event #1 was recorded only afterwards"),
        ("early", "freed-while-in-use", "error", "record an event in queue #2"),
        ("now", "freed-while-in-use", "error", "wait for the work first"),
        ("pinned", "host-memory-changed-under-copy", "warning", "waits for the copy"),
        ("capture", "capture-broken", "error", "the capture was lost"),
        ("event", "use-of-released-object", "error", "Event #1 had been released"),
        ("null", "ignored-error", "warning", "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY and the program continued"),
    ],
)
def test_faults_are_told_although_the_run_passed(kit: Kit, what: str, expected: str, severity: str, said: str) -> None:
    ran = kit.run([kit.program("lifetimes"), what])
    assert ran.returncode == 0, ran.stdout
    (one,) = [f for f in findings(ran) if f.id == expected]
    assert one.severity == severity and said in one.message


def test_a_program_that_makes_do_with_less_memory_is_silent(kit: Kit) -> None:
    ran = kit.run([kit.program("lifetimes"), "again"])
    assert ran.returncode == 0 and not findings(ran)
