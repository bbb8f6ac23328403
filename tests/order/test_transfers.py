"""Transfers that are complete when their call returns (GPUDX_BLOCKING_TRANSFERS): OpenCL on a real driver, CUDA on a fake one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from order_kit import HERE, Kit, Played, done_at, play_cuda
from support.opencl import OpenCL

from gpudx.facts import derive, transfers

WAITED = 8
ALL = {"GPUDX_BLOCKING_TRANSFERS": "all"}
Run = Callable[..., Played]


@pytest.fixture(scope="session")
def run(opencl: OpenCL) -> Run:
    def go(mode: str, which: str = "bug", **environment: str) -> Played:
        built = opencl.build([HERE / "programs/opencl_transfers.c"], "-Werror")
        ran = opencl.record([built, mode, which], **environment)
        return Played(ran.outcome.exit_code, ran.output, ran.traces[0])

    return go


def waited(played: Played) -> list[tuple[int, str]]:
    assert played.trace is not None
    return done_at(played.trace)


@pytest.mark.parametrize("mode", ["read", "write", "map"])
def test_the_early_use_of_a_transfer_is_harmless_when_it_is_complete(run: Run, mode: str) -> None:
    assert run(mode).output == "wrong\n", "the fault shows without us"
    played = run(mode, **ALL)
    assert (played.code, played.output) == (0, "right\n")
    assert waited(played) == [(WAITED, "")]


@pytest.mark.parametrize("mode", ["read", "write", "map"])
def test_only_the_transfers_that_are_named(run: Run, mode: str) -> None:
    assert run(mode, GPUDX_BLOCKING_TRANSFERS="1").output == "right\n"
    other = run(mode, GPUDX_BLOCKING_TRANSFERS="2-9")
    assert other.output == "wrong\n" and waited(other) == []


@pytest.mark.parametrize("mode", ["read", "write", "map"])
def test_a_correct_program_stays_right(run: Run, mode: str) -> None:
    assert run(mode, "twin", **ALL).output == "right\n"


def test_a_transfer_that_waits_for_the_program_is_not_waited_for(run: Run) -> None:
    played = run("user-event", **ALL)
    assert played.output == "right\n" and waited(played) == [(WAITED, "a user event was open")]


def test_off_nothing_is_noted(run: Run) -> None:
    assert waited(run("read", "twin")) == []


def test_numbered_by_line_as_the_recorder_counts(run: Run) -> None:
    played = run("read", "twin")
    (line,) = transfers.by_line(played.facts.trace, played.facts.sites)
    assert (line.numbers, line.ranges) == ((1,), "1")


def test_ranges_are_short() -> None:
    assert transfers.Transfers((0,) * 6, (1, 2, 3, 7, 9, 10)).ranges == "1-3,7,9-10"
    assert transfers.Transfers((), tuple(range(1, 2000, 2))).ranges == "", "more than the recorder reads"


def test_cuda_waits_behind_the_copy_and_not_in_a_capture(kit: Kit, tmp_path: Path) -> None:
    played = play_cuda(kit, "cuda_streams", ("no-event", "judged"), **ALL)
    assert played.trace is not None and (WAITED, "") in done_at(played.trace)
    assert len(transfers.early(derive(played.trace).trace)) >= 1
    captured = play_cuda(kit, "cuda_graphs", ("output-read", "judged"), **ALL)
    assert captured.code == 0 and captured.trace is not None
