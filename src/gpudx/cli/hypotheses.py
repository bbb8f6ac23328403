"""gpudx hypotheses: what a recorded case says to a user's own hypotheses."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from gpudx.cli.declare import Argument
from gpudx.cli.options import AsJson, CaseFolder


def command(
    case: CaseFolder,
    file: Annotated[Path, Argument(help="The hypotheses; docs/contracts.md describes the format.")],
    as_json: AsJson = False,
) -> None:
    """Report whether a case confirms or refutes each hypothesis in FILE, and why.

    Example of a FILE:

    \b
        [[hypothesis]]
        name = "gemm buffer undersized"
        claim = "the hidden buffer was allocated with default dimensions"
        expect = "some"
        [hypothesis.launches]
        kernel = "gemm*"
        predicate = "bytes(C) < M*N*4"
        names = { C = 0, M = 3, N = 4 }

    \b
        gpudx hypotheses CASE hypotheses.toml
        gpudx run --hypotheses hypotheses.toml -- ./app

    Exit status: 0 if each was judged or has a reason why not, 2 if the case or FILE cannot be read.
    """
    from gpudx.cli.page import page_here
    from gpudx.cli.stating import load
    from gpudx.contracts.hypotheses import read
    from gpudx.contracts.judging import judge
    from gpudx.report import contracts, render, terminal

    wanted = read(file)
    whole, processes = load(case)
    told = replace(whole, hypotheses=judge(wanted, whole, processes))
    sys.stdout.write(render(told, "json") if as_json else terminal.show(contracts.hypotheses(told), page_here()))
