"""Stacks that a later run of an investigation recorded, added to the verdict of the first."""

from __future__ import annotations

from dataclasses import replace

from gpudx.investigate.callers import with_callers
from gpudx.model import Diagnosis, Guilty, Site

STACK = ("allocate at main.cpp:81 (app)", "main at main.cpp:95 (app)")
GUILTY = Guilty("hip", "hipLaunchKernel", 22, kernel="gemm", launch=2, source="/k.hip:40")
ROOT = Site("hipMalloc", 3, 1, 1, source="/main.cpp:81")
FIRST = Diagnosis("undersized-buffer", "confirmed", "", GUILTY, None, (), "", (), findings=("a",), root=ROOT)
SECOND = replace(
    FIRST, guilty=replace(GUILTY, number=37, host_stack=("gemm at k.hip:40 (app)",)), root=replace(ROOT, number=5, host_stack=STACK)
)


def test_stacks_are_added_and_nothing_else() -> None:
    found = with_callers(FIRST, [SECOND])
    assert found.root == replace(ROOT, host_stack=STACK)
    assert found.guilty == replace(GUILTY, host_stack=("gemm at k.hip:40 (app)",))


def test_another_finding_or_launch_adds_nothing() -> None:
    others = [
        replace(SECOND, findings=("b",)),
        replace(SECOND, cause="use-after-free"),
        replace(SECOND, guilty=replace(GUILTY, launch=3, host_stack=STACK)),
    ]
    assert with_callers(FIRST, others) == FIRST
    assert with_callers(FIRST, []) == FIRST


def test_another_line_adds_nothing() -> None:
    elsewhere = replace(SECOND, root=replace(ROOT, source="/main.cpp:90", host_stack=STACK))
    assert with_callers(FIRST, [elsewhere]).root == ROOT
