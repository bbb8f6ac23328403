"""NaN and infinity that kernels compute: counted by what the program printed, and whether it failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_decisive import case, entry
from test_judge import EXITED, PASSED

from gpudx.diagnose.kernel_check_runs import NAN_READ_BACK
from gpudx.investigate.laboratory import _with_printed_nan
from gpudx.model import Evidence, Outcome
from gpudx.model.diagnosis import Status

NAN = "not-a-number"


@pytest.mark.parametrize(
    ("printed", "outcome", "statuses"),
    [
        ("mean nan", PASSED, ["confirmed"]),
        ("price: -inf", EXITED, ["likely"]),
        ("price: inf", PASSED, ["likely"]),
        ("infer: 3 banana", PASSED, []),
        ("done", PASSED, []),
        ("done", EXITED, ["likely"]),
    ],
)
def test_what_the_program_printed(tmp_path: Path, printed: str, outcome: Outcome, statuses: list[str]) -> None:
    (tmp_path / "output").write_text(f"{printed}\n")
    found = _with_printed_nan(case(outcome, diagnosis=(entry(NAN, "likely"),)), tmp_path / "output")
    assert [one.status for one in found.diagnosis] == statuses


@pytest.mark.parametrize(("status", "back", "kept"), [("likely", True, True), ("inconclusive", True, False), ("likely", False, False)])
def test_a_nan_that_the_program_read_back_is_likely(tmp_path: Path, status: Status, back: bool, kept: bool) -> None:
    (tmp_path / "output").write_text("done\n")
    evidence = (Evidence(f"{NAN_READ_BACK} (clEnqueueReadBuffer at main.c:7)"),) if back else ()
    found = _with_printed_nan(case(PASSED, diagnosis=(replace(entry(NAN, status), evidence=evidence),)), tmp_path / "output")
    assert [one.status for one in found.diagnosis] == (["likely"] if kept else [])
