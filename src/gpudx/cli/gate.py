"""gpudx gate: hold cases against the limits of gpudx.toml, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpudx.errors import UserError

LIMITS = Path("gpudx.toml")
FAILED = 1


def command(
    cases: Annotated[
        list[Path], typer.Argument(metavar="CASE...", help="Case directories; their evidence is put together.")
    ],
    limits: Annotated[Path, typer.Option(metavar="FILE", help="The limits.")] = LIMITS,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Accept the current findings as the baseline.")
    ] = False,
) -> None:
    """Check cases against limits: one line for each gate. Missing evidence fails a gate.

    Example of gpudx.toml:

    \b
        [gate]
        spills = 0
        stack = { most = 0, kernel = "gemm*" }
        sanitizer-errors = 0
        new-findings = "gpudx-baseline.json"
        tensor-cores = [{ kernel = "score_*", least = 1 }]

    \b
        gpudx build --ask --case built -- make -B
        gpudx run --sanitize --case checked -- ./app
        gpudx gate built checked --write-baseline     # once
        gpudx gate built checked

    `gpudx rule` lists all gates. Exit status: 0 if every gate has passed, else 1.
    """
    from gpudx import casefile, gates
    from gpudx.gates import new_findings
    from gpudx.report.safe import clean

    wanted, place = gates.read(limits), limits.absolute().parent
    read = [casefile.read(case) for case in cases]
    if write_baseline:
        if new_findings.KEY not in wanted:
            raise UserError(
                f"{limits} names no baseline: write {new_findings.KEY} = {new_findings.EXAMPLE} into [gate]."
            )
        path, count = new_findings.write(read, wanted[new_findings.KEY], place)
        typer.echo(f"gpudx: {path} knows {count} findings.", err=True)
    judged = gates.judge(wanted, read, place)
    for one in judged:
        typer.echo(clean(one.line))
    if not all(one.passed for one in judged):
        raise typer.Exit(FAILED)
