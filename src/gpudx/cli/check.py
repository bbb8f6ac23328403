"""gpudx check: hold the recorded launches of a case against contracts."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import AsJson, CaseFolder

BROKEN, NOT_ALL = 1, 3


def command(
    case: CaseFolder,
    contracts: Annotated[Path, Option(metavar="FILE", help="The contracts; docs/contracts.md describes the format.")],
    as_json: AsJson = False,
) -> None:
    """Check every recorded launch against contracts of kernels.

    Example of a FILE:

    \b
        [[contract]]
        kernel = "rope_*"
        require = ["head_dim % 2 == 0", "bytes(x) >= rows * heads * head_dim * 4"]
        names = { x = 0, rows = 1, heads = 2, head_dim = 3 }
        why = "the rotation works on pairs"

    \b
        gpudx check CASE --contracts contracts.toml
        gpudx run --contracts contracts.toml -- ./app

    Exit status: 0 if all contracts hold, 1 if one is broken, 3 if some could not be checked.
    """
    from gpudx.cli.page import page_here
    from gpudx.cli.stating import load
    from gpudx.contracts.checking import check
    from gpudx.contracts.contracts import read
    from gpudx.report import contracts as stated
    from gpudx.report import render, terminal

    wanted = read(contracts)
    whole, processes = load(case)
    checked = check(wanted, processes)
    told = replace(whole, findings=checked.findings, diagnosis=(), instruments=(checked.instrument,))
    sys.stdout.write(render(told, "json") if as_json else terminal.show(stated.contracts(told), page_here()))
    if checked.broken or not checked.complete:
        raise click.exceptions.Exit(BROKEN if checked.broken else NOT_ALL)
