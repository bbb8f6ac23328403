"""Experiments at two named calls of a HIP program (native/core/sites.h): programs/race.hip has a kernel and a copy that nothing orders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hip_kit import Kit
from test_hip_investigated import investigated

from gpudx.backends.hip.simulated import SHAPE
from gpudx.lab.at_sites import look

SLOW = "_Z4slowPii"
FIRST, SECOND, HELD = 2, 4, 1


def test_the_race_ends_wrong(kit: Kit) -> None:
    assert kit.run_hip(kit.hip_program("race")).returncode == 1


@pytest.mark.parametrize("edge", [f"{SLOW}:1>hipMemcpyAsync:1", f"{SLOW}:*>hipMemcpyAsync:*"])
def test_an_edge_puts_the_copy_behind_the_kernel(kit: Kit, edge: str) -> None:
    ran = kit.run_hip(kit.hip_program("race"), GPUDX_EDGE=edge)
    assert ran.returncode == 0
    assert look(ran.traces()) == ((FIRST | SECOND,), ())


def test_an_edge_of_calls_that_never_come_changes_nothing(kit: Kit) -> None:
    ran = kit.run_hip(kit.hip_program("race"), GPUDX_EDGE=f"{SLOW}:2>hipMemcpyAsync:2")
    assert ran.returncode == 1 and look(ran.traces())[0] == (0,)


def test_the_call_before_the_other_is_not_waited_for(kit: Kit) -> None:
    """The copy comes second: a wait of the kernel for it comes too early, and is said not to be there."""
    ran = kit.run_hip(kit.hip_program("race"), GPUDX_EDGE=f"hipMemcpyAsync:1>{SLOW}:1")
    assert ran.returncode == 1
    assert look(ran.traces())[1] == ("the first call had not been made by then",)


@pytest.mark.parametrize("shape", ["5", "7"])
def test_work_is_held_where_the_runtime_takes_host_functions(kit: Kit, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    """HIP 5.2 has none."""
    monkeypatch.setenv(SHAPE, shape)
    ran = kit.run_hip(kit.hip_program("race"), GPUDX_HOLD=f"{SLOW}:1:50")
    assert ran.returncode == 1
    assert look(ran.traces()) == (((HELD,), ()) if shape == "7" else ((0,), ("the driver took no host function",)))


def test_an_investigation_confirms_the_missing_order(kit: Kit, tmp_path: Path) -> None:
    case, said = investigated(kit, tmp_path, kit.hip_program("race"), "--only", "edge")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("unordered-access", "confirmed") and best.guilty is not None, said
    assert best.guilty.call == "hipMemcpyAsync", said
