"""A fingerprint says what failed, and nothing that changes from run to run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.model import Allocation, Case, Diagnosis, Guilty, Outcome
from gpudx.model.fingerprint import fingerprint, identity

GUILTY = Guilty(
    "cuda", "cuLaunchKernel", 55, "gemm", 12, 3, "n", "0x48000", Allocation("memory #4", 64, "live"), "a.c:1"
)
ENTRY = Diagnosis("out-of-bounds-access", "likely", "It.", GUILTY, None, (), "", ())
CASE = Case(("app",), "/a", "now", "1", Outcome("signal", "Died.", signal="SIGSEGV"), diagnosis=(ENTRY,))


def with_guilty(**changes: object) -> Case:
    return replace(CASE, diagnosis=(replace(ENTRY, guilty=replace(GUILTY, **changes)),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [{"number": 99}, {"launch": 1}, {"value": "0x7ffc"}, {"source": "b.c:9"}, {"host_stack": ("main",)},
     {"allocation": Allocation("memory #9", 65, "live")}],
)  # fmt: skip
def test_what_changes_from_run_to_run_does_not_count(changes: dict[str, object]) -> None:
    other = replace(with_guilty(**changes), directory="/b", created="later", command=("app", "2"))
    assert fingerprint(other) == fingerprint(CASE)


@pytest.mark.parametrize("changes", [{"kernel": "rope"}, {"argument": 4}, {"kernel": None}])
def test_what_failed_counts(changes: dict[str, object]) -> None:
    assert fingerprint(with_guilty(**changes)) != fingerprint(CASE)


def test_how_it_ends_counts_unless_both_causes_are_known() -> None:
    """The signal's name does not: a race dies of this one or that."""
    assert fingerprint(replace(CASE, outcome=Outcome("signal", "", signal="SIGBUS"))) == fingerprint(CASE)
    other = replace(CASE, outcome=Outcome("exit", "", exit_code=1))
    assert fingerprint(other) != fingerprint(CASE) and identity(other).same_as(identity(CASE))
    unknown = [replace(one, diagnosis=()) for one in (CASE, other)]
    assert not identity(unknown[0]).same_as(identity(unknown[1]))
    assert identity(unknown[0]).text == "no known cause (crash)"


def test_it_says_its_version_and_reads_well() -> None:
    assert fingerprint(CASE).startswith("1:") and len(fingerprint(CASE)) == 18
    assert identity(CASE).text == "out-of-bounds-access in kernel gemm, argument 3 (crash)"
