"""NaN and infinity that kernels compute: counted by what the program printed, and whether it failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_decisive import case, entry
from test_judge import EXITED, PASSED

from gpudx.investigate.laboratory import _with_printed_nan
from gpudx.model import Outcome

NAN = "not-a-number"


@pytest.mark.parametrize(
    ("printed", "outcome", "statuses"),
    [
        ("mean nan", PASSED, ["confirmed"]),
        ("price: -inf", EXITED, ["confirmed"]),
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
