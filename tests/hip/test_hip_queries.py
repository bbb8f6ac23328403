"""What a program is told by every query of the HIP runtime, with and without the recorder: the same. Execution is simulated."""

from __future__ import annotations

import difflib

import pytest
from hip_kit import Kit
from support.sanitized import WAYS, named

MOST_LINES = 20
TWO = {"GPUDX_HIP_SIM_DEVICES": "2"}


@pytest.mark.parametrize("way", (*WAYS, {"GPUDX_CRUMBS": "all", "GPUDX_POISON": "cb"}), ids=named)
def test_every_query_has_the_same_answer(kit: Kit, way: dict[str, str]) -> None:
    built = kit.hip_program("every_query")
    plain, recorded = kit.run_hip(built, record=False, **TWO), kit.run_hip(built, **TWO, **way)
    assert plain.returncode == 0 and plain.stdout.count("\n") > 1500, plain.stdout[-500:]
    assert len(recorded.trace()) > 30, "it asked, and was recorded"
    both = (plain.stdout.splitlines(), recorded.stdout.splitlines())
    assert "\n".join([*difflib.unified_diff(*both, "plain", "recorded", lineterm="", n=2)][:MOST_LINES]) == ""
    assert (recorded.returncode, recorded.stderr) == (plain.returncode, plain.stderr)
