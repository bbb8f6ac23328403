"""gpudx with a stand-in for the analysis, which finds what the variable STAND_IN says. Run by the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace

import gpudx
from gpudx import __version__, casefile, native
from gpudx.demos import incidents
from gpudx.errors import UserError
from gpudx.lab.loaded import instruments, judge
from gpudx.lab.outcome import outcome
from gpudx.lab.program import inspect
from gpudx.lab.recorded import RunResult
from gpudx.model import Case, Diagnosis, Evidence, Finding, Guilty, ProcessInfo

PROOF = (Evidence("It was seen."),)


def diagnose_run(run: RunResult, command: Sequence[str], case_dir: Path, stated: object = None) -> SimpleNamespace:
    finds = os.environ["STAND_IN"].split()
    if "bug" in finds:
        raise ZeroDivisionError("a bug")
    if "full" in finds:
        raise UserError("There is no room.")
    if "interrupt" in finds:
        raise KeyboardInterrupt
    presence = judge(run, lambda path: inspect(path, native.library()))
    guilty = Guilty("opencl", "clSetKernelArg", kernel="restore", argument=1, value="0x48000")
    case = Case(
        command=tuple(command),
        directory=str(case_dir),
        created="2026-01-02T03:04:05Z",
        version=__version__,
        outcome=outcome(run),
        instruments=instruments(presence, 10, 2),
        processes=() if "nothing" in finds else (ProcessInfo(run.pid, 1, "x", "traces/x", 10, 2),),
        findings=tuple(Finding(s, s, f"A {s}.", PROOF) for s in ("error", "warning", "info") if s in finds),
        diagnosis=tuple(
            Diagnosis("some-cause", s, "Because.", guilty, None, PROOF, "Otherwise.", ("Fix it.",))
            for s in ("confirmed", "likely", "inconclusive", "refuted")
            if s in finds
        ),
    )
    casefile.write(case, case_dir)
    return SimpleNamespace(case=case, facts=())


stand_in = ModuleType("gpudx.pipeline")
stand_in.diagnose_run = diagnose_run  # type: ignore[attr-defined]
sys.modules["gpudx.pipeline"] = stand_in
gpudx.pipeline = stand_in  # type: ignore[attr-defined]  # where it was imported before

if "STAND_IN_INCIDENTS" in os.environ:
    incidents.PACKAGED = Path(os.environ["STAND_IN_INCIDENTS"])

from gpudx.cli import main  # noqa: E402

main()
