"""What a program is told by every query of the CUDA driver, with and without the recorder: the same. The driver is a fake (fake/)."""

from __future__ import annotations

import difflib

import pytest
from cuda_kit import Kit
from support.sanitized import WAYS, named

MOST_LINES = 20


@pytest.mark.parametrize("way", (*WAYS, {"GPUDX_CRUMBS": "all", "GPUDX_POISON": "cb"}), ids=named)
def test_every_query_has_the_same_answer(kit: Kit, way: dict[str, str]) -> None:
    plain, recorded = kit.both([kit.program("every_query")], way)
    assert plain.returncode == 0 and plain.stdout.count("\n") > 2000, plain.stdout[-500:]
    assert len(recorded.trace()) > 100, "it asked, and was recorded"
    both = (plain.stdout.splitlines(), recorded.stdout.splitlines())
    assert "\n".join([*difflib.unified_diff(*both, "plain", "recorded", lineterm="", n=2)][:MOST_LINES]) == ""
    assert (recorded.returncode, recorded.stderr) == (plain.returncode, plain.stderr)
