"""gpudx build: run a build, and keep what its compilers say of kernels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpudx import __version__
from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseAsJson, Quiet
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.lab.captured import Captured
    from gpudx.model import Case, Outcome

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
LOG = "build.log"
NOTHING = "No compiler reported the registers and memory of its kernels: add --ask, and rebuild everything (make -B)."


def command(
    build: Annotated[list[str] | None, Argument(metavar="CMD", help="The build, after --.")] = None,
    case: Annotated[Path | None, Option(metavar="DIR", help="Write the case to DIR.")] = None,
    ask: Annotated[
        bool, Option("--ask", help="Make nvcc and hipcc report the registers and memory of each kernel.")
    ] = False,
    quiet: Quiet = False,
    as_json: CaseAsJson = False,
) -> None:
    """Run a build and report faults in the compilers' messages, and each kernel's registers, spills, stack and shared memory.

    \b
        gpudx build --ask -- make -B
        gpudx build --ask --case built -- cmake --build build --clean-first
        gpudx show built builds --csv
        gpudx gate built --limits gpudx.toml

    The build keeps its output and exit status; gpudx writes its report to stderr. --ask sets NVCC_APPEND_FLAGS and
    HIPCC_COMPILE_FLAGS_APPEND: the compilers print more and build the same code.

    Exit status: that of the build; 2 if gpudx cannot do what was asked.
    """
    from gpudx import casefile
    from gpudx.backends.asking import environment
    from gpudx.cli.cases import new_case
    from gpudx.lab.captured import end_like, run_captured

    if not build:
        raise UserError("There is no build to run: write it after --, as in `gpudx build -- make`.")
    with new_case(case, build[0]) as folder:
        done = run_captured(build, folder / LOG, environment(os.environ) if ask else None)
        made = _case(done, build, folder)
        casefile.write(made, folder)
    if not quiet:
        _tell(made, as_json)
    end_like(done)


def _case(done: Captured, build: list[str], folder: Path) -> Case:
    from gpudx import casefile
    from gpudx.diagnose.logs import explain
    from gpudx.evidence.reading import chunks, read_log, read_sources
    from gpudx.model import Case

    log = read_log(LOG, chunks(done.log))
    told = explain([log], read_sources(log.sources, [Path()]))
    return Case(
        command=tuple(build),
        directory=str(folder),
        created=casefile.now(),
        version=__version__,
        outcome=_outcome(done),
        instruments=told.instruments,
        findings=told.findings,
        diagnosis=told.diagnosis,
        not_checked=(*told.not_checked, *(() if told.kernels else (NOTHING,))),
        kernels=told.kernels,
    )


def _outcome(done: Captured) -> Outcome:
    from gpudx.lab import signals
    from gpudx.model import Outcome
    from gpudx.text import duration

    after, code = f"after {duration(done.duration_s)}", done.returncode
    if code < 0:
        return Outcome("signal", f"The build was killed by {signals.name(-code)} {after}.", None, signals.name(-code))
    if code:
        return Outcome("exit", f"The build ended with status {code} {after}.", code, duration_s=done.duration_s)
    return Outcome("passed", f"The build ended normally {after}.", 0, duration_s=done.duration_s)


def _tell(made: Case, as_json: bool) -> None:
    """The report where there is something to say of kernels, else one line."""
    from gpudx.cli.page import page_of
    from gpudx.cli.speak import lines, show, shown_on
    from gpudx.report import render

    if as_json:
        show(render(made, "json"))
    elif made.findings or made.kernels:
        show(render(made, "terminal", page_of(shown_on())))
    else:
        show(lines(f"{NOTHING} case: {made.directory}"))
