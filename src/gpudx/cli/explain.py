"""gpudx explain: what a pasted log means."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx import __version__
from gpudx.cli._follow import Follow
from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseToWrite, FormatJson, Output, ResultFormat
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.evidence.reading import Log
    from gpudx.model import Case

STDIN = "-"
UNKNOWN = 1
STRANGE = "log-not-understood"
MOST_TEXT = 4 << 20  # characters of a pasted report


def command(
    logs: Annotated[
        list[str] | None,
        Argument(metavar="FILE", help='Logs of any kind, GPU core dumps; "-" is standard input.'),
    ] = None,
    issue: Annotated[
        str | None, Option(metavar="FILE", help="Read a pasted bug report and write an answer that is ready to post.")
    ] = None,
    case: CaseToWrite = None,
    run: Annotated[
        Path | None,
        Option("--run", metavar="CASE", help="The recorded run that wrote the logs: look up their addresses in it."),
    ] = None,
    format: ResultFormat = "terminal",
    as_json: FormatJson = False,
    output: Output = None,
    whole: Annotated[bool, Option("--full", help="Print the full report instead of the first screen.")] = False,
) -> None:
    """Explain a log: what failed first, what only follows, what it does not prove, and the next command.

    \b
        gpudx explain crash.log
        dmesg | gpudx explain -
        tail -f app.log | gpudx explain -              # events as they come
        gpudx explain app.log dmesg.txt core.nvcudmp   # logs of one failure
        gpudx explain --issue report.md                # answer a bug report
        gpudx explain dmesg.txt --run CASE             # look up its addresses
        gpudx explain ci.log --case log && gpudx report log -f markdown

    A build log (ptxas -v, hipcc -Rpass-analysis=kernel-resource-usage) gives a table of kernels; source files that it names
    are read if they exist. `gpudx rule` lists the known formats. An asynchronous error is never blamed on the line that printed it.

    Exit status: 0 if something was recognised, 1 if nothing was.
    """
    from gpudx.cli.cases import new_case, written
    from gpudx.cli.page import page_here
    from gpudx.cli.report import write_page
    from gpudx.report import render, screen

    names = [*(logs or []), *([issue] if issue is not None else [])]
    if not names:
        raise UserError("No log was given: name a file, or pipe one in with `gpudx explain -`.")
    if names.count(STDIN) > 1:
        raise UserError('Standard input can be read only once: give "-" for one log.')
    format = "json" if as_json else format
    live = format == "terminal" and output is None and issue is None and sys.stdout.isatty()
    kept = _Kept() if issue is not None else None
    read = _joined([_read(name, live, kept if name == issue else None) for name in names], run)
    made = _case(read, names)
    if case is not None:
        with new_case(case, "explain") as folder:
            made = written(made, folder)
    if kept is not None:
        text = _answer(kept.text, read, names.index(str(issue)))
    elif format == "terminal" and not whole:
        more = "" if case or STDIN in names else shlex.join(["gpudx", "explain", "--full", *names])
        text = screen.render(made, page_here(), more=more)
    else:
        text = render(made, format, page_here())
    if output is None:
        sys.stdout.write(text)
    else:
        write_page(output, text)
    if not made.kernels and all(one.id == STRANGE for one in made.findings):
        raise click.exceptions.Exit(UNKNOWN)


class _Kept:
    """The text of a report, beside what is read of it; the longest that people paste are shorter."""

    def __init__(self) -> None:
        self.text = ""

    def pieces(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if len(self.text) < MOST_TEXT:
                self.text += chunk.decode("utf-8", "replace")
            yield chunk


def _read(name: str, live: bool, kept: _Kept | None) -> Log:
    from gpudx.evidence.reading import chunks, read_log, read_whole

    if name == STDIN:
        stream = Follow(sys.stdin.fileno(), _show if live or not sys.stdin.isatty() else None)
        pieces: Iterable[bytes] = stream.pieces()
        return read_log("standard input", kept.pieces(pieces) if kept else pieces, stream.found)
    if Path(name).is_dir():
        raise UserError(f"{name} is a directory: give log files, or show a case with `gpudx report {name}`.")
    whole = read_whole(Path(name))
    return whole or read_log(Path(name).name, kept.pieces(chunks(Path(name))) if kept else chunks(Path(name)))


def _show(line: str) -> None:
    """An event of a log that is still being written; the report itself goes to standard output."""
    sys.stderr.write(f"gpudx: {line}\n")
    sys.stderr.flush()


def _answer(text: str, logs: list[Log], report: int) -> str:
    from gpudx.diagnose.issue import answer, without_prose
    from gpudx.diagnose.logs import explain

    return answer(text, explain([*logs[:report], without_prose(text, logs[report]), *logs[report + 1 :]]))


def _joined(logs: list[Log], run: Path | None) -> list[Log]:
    """With what a recorded run knows of the addresses in the logs, and with its command where a log names none."""
    if run is None:
        return logs
    from gpudx import casefile
    from gpudx.diagnose.located import located
    from gpudx.facts import derive
    from gpudx.trace import open_case

    traces = open_case(run)
    if not traces:
        raise UserError(f"{run} has no recorded run in it: give the case of the `gpudx run` that wrote the logs.")
    runs = [(str(run), derive(trace)) for trace in traces]
    command = shlex.join(casefile.read(run).command)
    return [replace(located(log, runs), commands=log.commands or ((0, command),)) for log in logs]


def _case(logs: list[Log], names: list[str]) -> Case:
    from gpudx import casefile
    from gpudx.diagnose.logs import explain
    from gpudx.evidence.reading import read_sources
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
