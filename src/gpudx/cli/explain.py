"""gpudx explain: say what a pasted log means."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudx import __version__
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.evidence.logs._fold import Log
    from gpudx.model import Case

STDIN = "-"
UNKNOWN = 1
CHUNK = 1 << 20


def command(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help='Logs of any kind, GPU core dumps; "-" is standard input.'),
    ],
    case: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a case there, for gpudx report.")] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="CASE", help="The recorded run that wrote the logs: look up their addresses in it."
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown or json.")] = "terminal",
) -> None:
    """Say what a log means: what came first, what only follows, what it does not prove, and the next command.

    \b
        gpudx explain crash.log
        dmesg | gpudx explain -
        ./app 2>&1 | gpudx explain -
        gpudx explain app.log dmesg.txt core.nvcudmp        # one story: what is first, what follows, what is told twice
        gpudx explain ci.log --case explained && gpudx report explained -f markdown
        gpudx explain dmesg.txt --run gpudx-cases/last      # which buffer and which launches an address belongs to

    A build log (ptxas -v, hipcc -Rpass-analysis=kernel-resource-usage) gives a table of kernels; source files that it names
    are read where they are there. Known formats: docs/formats. An asynchronous error is never blamed on the line that printed it.

    Exit status: 0 if something was recognised, 1 if nothing was.
    """
    from gpudx.cli.cases import new_case, written
    from gpudx.cli.page import page_here
    from gpudx.report import render

    made = _case(_joined([_read(name) for name in logs], run), logs)
    if case is not None:
        with new_case(case, "explain") as folder:
            made = written(made, folder)
    sys.stdout.write(render(made, format, page_here()))
    if not made.findings and not made.kernels:
        raise typer.Exit(UNKNOWN)


def _read(name: str) -> Log:
    from gpudx.evidence._lines import chunks
    from gpudx.evidence.logs._fold import read_log
    from gpudx.evidence.logs._whole import read_whole

    if name == STDIN:
        return read_log("standard input", _stdin())
    if Path(name).is_dir():
        raise UserError(f"{name} is a directory: give log files, or show a case with `gpudx report {name}`.")
    return read_whole(Path(name)) or read_log(Path(name).name, chunks(Path(name)))


def _joined(logs: list[Log], run: Path | None) -> list[Log]:
    """With what a recorded run knows of the addresses in the logs."""
    if run is None:
        return logs
    from gpudx.diagnose.located import located
    from gpudx.facts import derive
    from gpudx.trace import open_case

    traces = open_case(run)
    if not traces:
        raise UserError(f"{run} has no recorded run in it: give the case of the `gpudx run` that wrote the logs.")
    runs = [(str(run), derive(trace)) for trace in traces]
    return [located(log, runs) for log in logs]


def _stdin() -> Iterator[bytes]:
    while chunk := sys.stdin.buffer.read(CHUNK):
        yield chunk


def _case(logs: list[Log], names: list[str]) -> Case:
    from gpudx import casefile
    from gpudx.diagnose.logs import explain
    from gpudx.evidence.sources._compiled import read_sources
    from gpudx.model import Case

    folders = [Path(), *(Path(name).parent for name in names if name != STDIN)]
    told = explain(logs, read_sources((one for log in logs for one in log.sources), folders))
    return Case(
        command=("gpudx", "explain", *names),
        directory="",
        created=casefile.now(),
        version=__version__,
        outcome=told.outcome,
        instruments=told.instruments,
        findings=told.findings,
        diagnosis=told.diagnosis,
        not_checked=told.not_checked,
        kernels=told.kernels,
    )
