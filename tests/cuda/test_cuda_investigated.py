"""gpudx investigate on a CUDA program. The driver is a fake (fake/): this says which experiments are made and how they
are told apart, never that a GPU did anything."""

from __future__ import annotations

import os
from pathlib import Path

from cuda_kit import OURS, Kit
from support import forked
from support.own import PYTHONPATH

from gpudx import casefile


def test_experiments_with_cuda(kit: Kit, tmp_path: Path) -> None:
    """The third launch fails in every run: waits behind launches name it, fences and fills change nothing. No instrument sees an
    access, so that its class is no more than likely."""
    env = {name: value for name, value in os.environ.items() if name not in OURS} | {
        "PYTHONPATH": PYTHONPATH,
        "GPUDX_LIB": str(kit.recorder),
        "LD_LIBRARY_PATH": str(kit.driver),
        "FAKE_CUDA_FAIL": "cuLaunchKernel:3:700",
        "PATH": "/usr/bin:/bin",
    }
    words = ["investigate", "--case", tmp_path / "case", "--", "/bin/sh", "-c", f"{kit.program('faults')}; exit 1"]
    # The sanitizer may be installed where this runs; the fake driver writes no dumps, and their runs would wait for them.
    for name in ("memcheck", "racecheck", "initcheck", "synccheck", "dump", "fenced-dump", "low-fenced-dump"):
        words[1:1] = ["--without", name]
    done = forked.gpudx(*words, env=env, timeout=200)
    case = casefile.read(tmp_path / "case")
    assert case.investigation is not None and done.returncode == 1, done.stderr
    seen = {one.experiment: (one.reproduced, one.runs) for one in case.observations}
    assert seen["recorded"] == (6, 6) and seen["serialised"] == seen["fenced"], done.stdout
    assert seen["fenced"][0] == seen["fenced"][1] >= 3, done.stdout
    missing = dict(case.investigation.not_run)
    assert (
        missing["turns"] == "only OpenCL has kernel objects that hold arguments"
        and "command line" in missing["memcheck"]
    )
    status = {row.cause: row.status for row in case.investigation.table}
    assert status["order-or-timing"] == "refuted", done.stdout
    assert "confirmed" not in status.values() and status["out-of-bounds-access"] == "likely", (status, done.stdout)
    assert case.diagnosis[0].guilty is not None and case.diagnosis[0].guilty.launch == 3
