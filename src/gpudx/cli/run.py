"""gpudx run: run a program and say why it failed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpudx.model import Case

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command


def command(
    program: Annotated[list[str], typer.Argument(metavar="CMD", help="The program and its arguments, after --.")],
    timeout: Annotated[float | None, typer.Option(min=0.001, metavar="S", help="End it after S seconds.")] = None,
    case: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the case goes. [./gpudx-cases/...]")] = None,
    error_exitcode: Annotated[
        int | None, typer.Option(min=0, max=255, metavar="N", help="Exit with N if a passing program has faults.")
    ] = None,
    keep: Annotated[str, typer.Option(metavar="SIZE", help='Calls kept per thread, or "all".')] = "16M",
    dump: Annotated[
        bool, typer.Option("--dump", help="Have the driver write a core dump of the device. May change how it ends.")
    ] = False,
    serialise: Annotated[
        bool, typer.Option("--serialise", help="Wait after each CUDA launch: a device fault is then pinned to its launch.")
    ] = False,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Record the host and Python stack of each launch. Slower.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the case, say nothing.")] = False,
) -> None:
    """Run a program, unmodified, and say why it failed.

    The program keeps its input, output, terminal and exit status; gpudx writes to stderr only.
    """
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import run_and_tell
    from gpudx.lab.recorded import end_like

    with new_case(case, program[0]) as directory:
        told = run_and_tell(
            program, directory, timeout=timeout, keep=keep, quiet=quiet, dump=dump, serialise=serialise, stacks=stacks
        )
    end_like(told.run, error_exitcode if told.case and has_faults(told.case) else None)


def has_faults(case: Case) -> bool:
    """Is there something that should fail a passing run? Not having watched it counts: that is not clean."""
    severe = any(finding.severity == "error" for finding in case.findings)
    blind = any(one.name == "recorder" and one.state != "live" for one in case.instruments)
    return severe or blind or any(entry.status != "refuted" for entry in case.diagnosis)
