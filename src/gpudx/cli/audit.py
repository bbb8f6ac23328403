"""gpudx audit: say what device code a file holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx import __version__
from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseToWrite, FormatJson, ResultFormat

if TYPE_CHECKING:
    from gpudx.evidence.reading import Contents
    from gpudx.model import Case

NOTHING = 1


def command(
    files: Annotated[list[Path], Argument(metavar="FILE", help="Programs, libraries, cubins, .hsaco, bundles.")],
    arch: Annotated[
        list[str] | None, Option(metavar="ARCH", help="Require code for ARCH: sm_90, gfx90a. May be repeated.")
    ] = None,
    case: CaseToWrite = None,
    format: ResultFormat = "terminal",
    as_json: FormatJson = False,
) -> None:
    """Show the device code in a file: targets, kernels with registers, spills, stack and shared memory, and problems.

    \b
        gpudx audit ./app
        gpudx audit ./app --arch sm_90 --arch gfx90a
        gpudx audit libkernels.so kernel.hsaco module.cubin --json
        gpudx audit ./app --case audited && gpudx report audited -f markdown

    Nothing is run. A number that is not in the file is shown as "?", never as 0: cubins do not contain spill counts.

    Exit status: 0; 1 if there was no device code, or none for an --arch.
    """
    from gpudx.cli.cases import new_case, written
    from gpudx.cli.page import page_here
    from gpudx.evidence import code_objects
    from gpudx.report import render

    read = [code_objects.read(path) for path in files]
    made = _case(read, tuple(arch or ()), [str(path) for path in files])
    if case is not None:
        with new_case(case, "audit") as folder:
            made = written(made, folder)
    sys.stdout.write(render(made, "json" if as_json else format, page_here()))
    if not any(one.images for one in read) or any(finding.id == "no-code-for-target" for finding in made.findings):
        raise click.exceptions.Exit(NOTHING)


def _case(read: list[Contents], archs: tuple[str, ...], names: list[str]) -> Case:
    from gpudx import casefile
    from gpudx.backends.occupancy import bound
    from gpudx.evidence import code_objects
    from gpudx.model import Built, Case, Instrument, Outcome

    told = [code_objects.summary(one) for one in read]
    builds = [kernel.build for one in read for image in one.images for kernel in image.kernels]
    return Case(
        command=("gpudx", "audit", *(word for arch in archs for word in ("--arch", arch)), *names),
        directory="",
        created=casefile.now(),
        version=__version__,
        outcome=Outcome("not started", f"No program was run. {' '.join(told)}"),
        instruments=tuple(Instrument(f"code {one.name}", "live", said) for one, said in zip(read, told, strict=True)),
        findings=tuple(finding for one in read for finding in code_objects.to_findings(one, archs)),
        not_checked=tuple(sentence for one in read for sentence in _not_read(one)),
        kernels=tuple(Built(build, bound(build)) for build in builds),
    )


def _not_read(read: Contents) -> list[str]:
    return [
        *(f"The {image.form} at {image.where} of {read.name} {image.unread}." for image in read.images if image.unread),
        *(f"{read.name}: {note}" for note in read.notes),
    ]
