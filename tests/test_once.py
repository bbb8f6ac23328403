"""The facts of a trace are derived once in a command, however much of the report they are for."""

from __future__ import annotations

import os
from pathlib import Path

from support import forked
from support.opencl import OpenCL

HERE = Path(__file__).resolve().parent


def derived(opencl: OpenCL, *words: str | Path) -> list[int]:
    """How often, for each trace."""
    env = {**os.environ, **opencl.loader.environment, "GPUDX_LIB": str(opencl.recorder)}
    done = forked.gpudx(*words, env=env, script=HERE / "counting.py")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("derived")]
    return [int(word) for word in line.split()[1:]]


def test_facts_are_derived_once(opencl: OpenCL, tmp_path: Path) -> None:
    case, program = tmp_path / "case", opencl.build([HERE / "diagnose/programs/failing.c"], name="failing")
    assert derived(opencl, "run", "--case", case, "--", program, "outside") == [1]
    assert derived(opencl, "report", case, "-f", "html", "-o", tmp_path / "report.html") == [1]
    trials = derived(opencl, "investigate", "--case", tmp_path / "found", "--", program, "outside")
    # The first screen quotes the kernel, whose text only the trace of a run has.
    assert len(trials) >= 2 and set(trials) <= {1, 2} and trials.count(2) <= 1
