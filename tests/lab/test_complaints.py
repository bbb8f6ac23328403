"""Lines that count as a failed check, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.lab.complaints import complaint, is_complaint


@pytest.mark.parametrize(
    "line",
    [
        "round 1: mean 1.938 (file says 3.438)  MISMATCH",
        "FAILED",
        "[FAIL] sum of rows",
        "transpose 256 x 256: WRONG (61440 values)",
        "Verification failed at element 12",
        "self-check failed",
        "the results do not match the CPU",
        "mismatch at element 4096: expected 3, got 0",
        "12 of 64 values wrong",
        "mismatches: 17 of 4096 values",
        "output differs from the reference in 12 rows",
        "incorrect result",
    ],
)
def test_a_failed_check(line: str) -> None:
    assert is_complaint(line)


@pytest.mark.parametrize(
    "line",
    [
        "0 mismatches",
        "mismatches: 0",
        "no errors, no mismatches",
        "MISMATCHES: 0 of 4096 values",
        "FAILED: 0, PASSED: 12",
        "0 of 256 bins wrong",
        "0/256 values wrong",
        "  96 x 160  tile 16 ok (0 wrong)",
        "wrong values: 0",
        "0.00 % wrong pixels",
        "max error 0.000000 (results match)",
        "prints PASS or FAIL for each row",
        "PASS/FAIL",
        "legend: + MISMATCH, . equal",
        "allocation of 1 GiB failed, trying 512 MiB",
        "build failed",
        "expected to fail: MISMATCH on purpose",
        "if the values differ, use --exact",
        "mismatch penalty -3, gap penalty -5",
        "mismatches: 17",
        "error rate of the channel 0.1",
        "different seeds",
        "mean error 1.2e-07",
        "filter failed over to the CPU",
    ],
)
def test_what_is_no_failed_check(line: str) -> None:
    assert not is_complaint(line)


def test_the_first_line_unless_all_is_well_in_the_end(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("round 0: ok\nround  1:   MISMATCH\nround 2: MISMATCH\ndone\n")
    assert complaint(file) == "round 1: MISMATCH"
    file.write_text("first try: MISMATCH\nsecond try: match\nall results correct\n")
    assert not complaint(file)
    file.write_text("128 rows\n0 mismatches\n")
    assert not complaint(file)
    assert not complaint(tmp_path / "none")
