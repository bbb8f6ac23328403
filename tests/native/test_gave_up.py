"""What the recorder gave up for lack of time is shown in the report, and only that."""

from __future__ import annotations

import pytest
from native_kit import Kit

from gpudx.diagnose import left_undone
from gpudx.facts import derive

SENTENCE = "A thread used a kernel out of turn, because another thread kept it for too long (at least once)."


@pytest.mark.parametrize(("how", "shown"), [("slow", (SENTENCE,)), ("quick", ())])
def test_a_turn_that_did_not_come(kit: Kit, how: str, shown: tuple[str, ...]) -> None:
    ran = kit.run([kit.program("out_of_turn"), how], "symbols", env={"GPUDX_TURNS": "1"})
    assert ran.returncode == 0
    assert left_undone.not_checked([derive(ran.trace())]) == shown


def test_processes_are_counted_together(kit: Kit) -> None:
    runs = [kit.run([kit.program("out_of_turn"), "slow"], "symbols", env={"GPUDX_TURNS": "1"}) for _ in range(2)]
    (line,) = left_undone.not_checked([derive(ran.trace()) for ran in runs])
    assert line.endswith("(at least 2 times).")


@pytest.mark.parametrize(("copies", "left_out"), [("3", False), ("400000", True)])
def test_sources_of_copies(kit: Kit, copies: str, left_out: bool) -> None:
    """The driver is a fake that does nothing: 400,000 of its calls take as long as 40,000 looks. A machine that does much else leaves
    more time for looks, but not for all of them."""
    ran = kit.run([kit.program("many_copies"), copies], "symbols")
    assert ran.returncode == 0
    shown = left_undone.not_checked([derive(ran.trace())])
    assert bool(shown) == left_out
    assert all(line.startswith("The host memory of a copy was not compared") for line in shown)
