"""gpudx lint: faults that can be seen in the sources of kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx import __version__
from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import AsJson
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case, Finding

FOUND = 1


def command(
    files: Annotated[
        list[Path], Argument(metavar="FILE", help="Kernel sources, and host sources that pass structs to them.")
    ],
    define: Annotated[
        list[str] | None, Option("-D", metavar="NAME[=VALUE]", help="Define a macro, as for the compiler.")
    ] = None,
    option: Annotated[
        list[str] | None, Option(metavar="OPTION", help="Pass an option of the compiler: --option=-ffast-math.")
    ] = None,
    case: Annotated[Path | None, Option(metavar="DIR", help="Write a case to DIR, for gpudx gate.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find mechanical faults in CUDA, HIP and OpenCL kernel sources. Each fault is one line, a warning.

    \b
        gpudx lint src/*.cu
        gpudx lint kernels.cl host.c                 # compares structs of both
        gpudx lint --option=-cl-fast-relaxed-math kernels.cl
        gpudx lint src/*.cu --case linted && gpudx gate linted

    `gpudx rule` lists the rules. Headers and macros are not read; code that it does not understand is skipped.

    Exit status: 0 if nothing was found, else 1.
    """
    from gpudx import casefile
    from gpudx.cli.cases import new_case, written
    from gpudx.evidence.reading import read_source
    from gpudx.evidence.sources import lint
    from gpudx.report.safe import clean

    options = [*(f"-D{one}" for one in define or ()), *(option or ())]
    project = [read_source(path, options) for path in files]
    for path, source in zip(files, project, strict=True):
        if source is None:
            raise UserError(_unreadable(path))
    found = lint([source for source in project if source is not None])
    if case is not None:
        with new_case(case, "lint") as folder:
            written(_case(files, found), folder)
    if as_json:
        click.echo(json.dumps([casefile.encode(one) for one in found], indent=1))
    for one in () if as_json else found:
        place = f"{one.written.file}:{one.written.line}: " if one.written else ""
        click.echo(clean(f"{place}warning: {one.message} [{one.id.removeprefix('lint-')}]"))
    if found:
        raise click.exceptions.Exit(FOUND)
    from gpudx.text import plural

    click.echo(f"gpudx: no fault in {plural(len(files), 'file')}, {plural(_lines(files), 'line')}", err=True)


def _unreadable(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a directory: name the files in it, as in `gpudx lint {path}/*.cl`."
    return f"{path} cannot be read: check its name and permission."


def _lines(files: list[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in files)


def _case(files: list[Path], found: tuple[Finding, ...]) -> Case:
    from gpudx import casefile
    from gpudx.model import Case, Instrument, Outcome
    from gpudx.text import plural

    read = f"{plural(len(files), 'file')} of sources, {plural(len(found), 'warning')}."
    return Case(
        command=("gpudx", "lint", *map(str, files)),
        directory="",
        created=casefile.now(),
        version=__version__,
        outcome=Outcome("not started", f"No program was run: {read}"),
        instruments=(Instrument("log of lint", "live", read),),
        findings=found,
        not_checked=("Headers, macros and types: sources were read token by token, not compiled.",),
    )
