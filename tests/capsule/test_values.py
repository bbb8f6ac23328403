"""gpudx diff --values: the first launch that gets the same and leaves something else."""

from __future__ import annotations

from pathlib import Path

from support.opencl import OpenCL
from test_capsules import gpudx_

from gpudx.capsule.values import Launch, first_difference
from gpudx.facts import derive
from gpudx.facts.fresh import passed_fresh

PROGRAM = Path(__file__).parent / "nans.c"


def test_two_runs(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([PROGRAM])
    for name, expression in (("good", "x * 2"), ("same", "x + x"), ("bad", "i == 9 ? x : x * 2")):
        done = gpudx_(opencl, "run", "-q", "--values", "--case", tmp_path / name, "--", program, expression)
        assert done.returncode == 0, done.stderr
    done = gpudx_(opencl, "diff", "--values", tmp_path / "good", tmp_path / "same")
    assert done.returncode == 0 and "all 8 launches" in done.stdout, done.stdout + done.stderr
    done = gpudx_(opencl, "diff", "--values", tmp_path / "good", tmp_path / "bad")
    wanted = "launch 1 of guilty (launch 5 of the first run) gets the same contents in both runs and leaves others in argument 0"
    assert done.returncode == 1 and wanted in done.stdout, done.stdout + done.stderr


def test_other_inputs_are_the_hosts() -> None:
    good = {("k", 1): Launch(1, {0: 1, 1: 2}, {0: 3, 1: 2})}
    bad = {("k", 1): Launch(1, {0: 1, 1: 9}, {0: 4, 1: 9})}
    same, text = first_difference(good, bad)
    assert not same and "gets other data in argument 1" in text
    assert "missing" in first_difference(good, {})[1]


def test_uninitialized_memory_is_no_input() -> None:
    good = {("k", 1): Launch(1, {0: 1, 1: 2}, {0: 3, 1: 2})}
    bad = {("k", 1): Launch(1, {0: 9, 1: 2}, {0: 4, 1: 2})}
    assert "gets other data in argument 0" in first_difference(good, bad)[1]
    same, text = first_difference(good, bad, {("k", 1, 0)})
    assert not same and "gets the same contents in both runs and leaves others in argument 0" in text
    assert text.endswith("argument 0 held uninitialized memory before it, which stays where it writes nothing")
    assert first_difference(good, {("k", 1): Launch(1, {0: 9, 1: 2}, {0: 3, 1: 2})}, {("k", 1, 0)})[0]


def test_which_arguments_held_nothing(opencl: OpenCL) -> None:
    """Of five launches of `put`, the first and the third are passed a buffer that nothing wrote."""
    (trace,) = opencl.record([opencl.build([PROGRAM.with_name("fresh.c")])]).traces
    assert passed_fresh(derive(trace)) == {("put", 1, 0), ("put", 3, 0)}
