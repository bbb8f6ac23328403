"""Looks that cost too much are left out, and the report says so. The driver is a fake (fake/)."""

from __future__ import annotations

import pytest
from cuda_kit import Kit

from gpudx.diagnose import gave_up
from gpudx.facts import derive


@pytest.mark.parametrize(("copies", "left_out"), [("3", False), ("50000", True)])
def test_sources_of_copies(kit: Kit, copies: str, left_out: bool) -> None:
    ran = kit.run([kit.program("many_copies"), copies])
    assert ran.seen == (0, "", "")
    shown = gave_up.not_checked([derive(ran.trace())])
    assert bool(shown) == left_out
    assert all(line.startswith("The host memory of a copy was not compared") for line in shown)
