"""gpudx investigate on planted races that no plain run shows, with a real OpenCL driver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from order_kit import HERE
from support import forked
from support.opencl import OpenCL
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.model import Case, Investigation, Row

RACE = "unordered-access"


def investigate(
    opencl: OpenCL, folder: Path, *words: str, lot: str = "1"
) -> tuple[Case, Investigation, dict[str, tuple[int, int]]]:
    """The case of opencl_queues ({} in the words), and k of n by experiment. Its race that shows once in 300 runs does not
    show with this lot."""
    built = opencl.build([HERE / "programs/opencl_queues.c"], "-Werror")
    gpudx(opencl, "--case", str(folder / "case"), *(word.replace("{}", str(built)) for word in words))
    return read(folder)


def gpudx(opencl: OpenCL, *words: str) -> None:
    ours = {"GPUDX_LIB": str(opencl.recorder), "PYTHONPATH": PYTHONPATH}
    env = {**os.environ, **opencl.loader.environment, **ours}
    done = forked.gpudx("investigate", *words, env=env, timeout=200)
    assert done.returncode in (0, 1), done.stderr


def read(folder: Path) -> tuple[Case, Investigation, dict[str, tuple[int, int]]]:
    case = casefile.read(folder / "case")
    assert case.investigation is not None
    return case, case.investigation, {one.experiment: (one.reproduced, one.runs) for one in case.observations}


def row(state: Investigation) -> Row:
    return next(one for one in state.table if one.cause == RACE)


def test_held_it_fails_in_every_run_and_with_the_missing_order_in_none(opencl: OpenCL, tmp_path: Path) -> None:
    """The record settles it in two runs; whoever wants to see it fail goes on with --perturb."""
    case, state, seen = investigate(opencl, tmp_path, "--", "{}", "rare", "judged")
    assert case.outcome.kind == "passed" and (state.stopped, row(state).status) == ("settled", "confirmed")
    assert seen == {"recorded": (0, 2)}
    gpudx(opencl, "--perturb", str(tmp_path / "case"))
    case, state, seen = read(tmp_path)
    assert (state.stopped, row(state).status) == ("settled", "confirmed")  # a plain run may fail by chance: it is rare, not impossible
    assert seen["recorded"][1] == 6 and seen["held"] == (10, 10) and seen["held-edge"][0] == 0, seen
    assert "Under held-edge the failure is gone" in row(state).reason
    assert "When clEnqueueCopyBuffer no. 1 began " in state.told[-1]
    assert "the outcome was wrong in 10 of 10 runs" in state.told[-1]


def test_what_the_record_only_suspects_is_confirmed_too(opencl: OpenCL, tmp_path: Path) -> None:
    """Whether two kernels write the same bytes is not known from their calls: a warning, until the outcome changes. With
    some drivers it does so by itself now and then."""
    words = ("--perturb", "--without", "edge", "--", "{}", "no-barrier", "judged")
    case, state, seen = investigate(opencl, tmp_path, *words)
    assert case.outcome.kind != "passed" or not [one for one in case.findings if one.severity == "error"]
    assert row(state).status == "confirmed" and seen["held"][0] == seen["held"][1] >= 8, (row(state), seen)
    assert seen["held-edge"][0] == 0


@pytest.mark.slow
def test_a_program_that_only_prints_otherwise(opencl: OpenCL, tmp_path: Path) -> None:
    _, state, seen = investigate(opencl, tmp_path, "--perturb", "--", "/bin/sh", "-c", "{} rare judged; true")
    assert row(state).status == "confirmed" and seen["held"][0] == seen["held"][1] >= 8, (row(state), seen)


@pytest.mark.slow
def test_an_outcome_that_does_not_show_it(opencl: OpenCL, tmp_path: Path) -> None:
    """The bug that does not look at its result: it ends alike whatever was computed."""
    _, state, seen = investigate(opencl, tmp_path, "--perturb", "--", "{}", "rare", "bug")
    assert seen["held"] == (0, 8) and "held-edge" not in seen
    assert "held" not in row(state).reason and state.stopped == "the failure did not reproduce"
    assert "refutes nothing" in state.told[-1]


def test_a_twin_names_no_two_calls(opencl: OpenCL, tmp_path: Path) -> None:
    _, state, seen = investigate(opencl, tmp_path, "--perturb", "--runs", "3", "--", "{}", "two-queues", "twin")
    assert set(seen) == {"recorded"} and "no two unordered operations" in dict(state.not_run)["held"]
