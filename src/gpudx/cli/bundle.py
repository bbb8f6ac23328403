"""gpudx bundle: a case in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import CaseFolder, ResultAsJson
from gpudx.cli.speak import say
from gpudx.errors import UserError


def command(
    case: CaseFolder,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write the bundle to FILE. [./CASE.gpudx.zip]")] = None,
    redact: Annotated[
        bool, Option("--redact", help="Leave out home directories, secrets, environment, traces and tool output.")
    ] = False,
    as_json: ResultAsJson = False,
) -> None:
    """Pack a case into one file for a colleague or a vendor; gpudx report and gpudx open read it.

    The manifest in it has the size and hash of every file. Without --redact it holds the traces: names, paths, arguments of
    launches and parts of the program's memory.

    \b
        gpudx bundle gpudx-cases/20260102T030405Z-app-1a2b
        gpudx bundle CASE --redact -o for-the-vendor.zip

    Exit status: 0 if it was written, 2 if not.
    """
    from gpudx.cases import bundle
    from gpudx.report.safe import clean

    if not case.is_dir():
        raise UserError(f"There is no case at {case}: give the directory that `gpudx run` named.")
    target = output or Path(f"{case.absolute().name}.gpudx.zip")
    left_out = bundle.pack(case, target, redact)
    if as_json:
        click.echo(json.dumps({"bundle": str(target), "left_out": list(left_out)}, indent=1))
        return
    for one in left_out:
        say(f"left out: {clean(one)}")
    click.echo(clean(str(target)))
