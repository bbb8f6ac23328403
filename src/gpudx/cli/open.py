"""gpudx open: make a case of a bundle again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import ResultAsJson
from gpudx.errors import UserError


def command(
    bundle: Annotated[Path, Argument(help="A file written by gpudx bundle.")],
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="DIR", help="Write the case to DIR. [./gpudx-cases/...]")
    ] = None,
    most: Annotated[str, Option(metavar="SIZE", help="Refuse a bundle that unpacks to more than SIZE.")] = "64G",
    as_json: ResultAsJson = False,
) -> None:
    """Unpack a bundle into a case directory, on any machine: no GPU is needed to look at it.

    Names, kinds, sizes and hashes are checked: a bundle that does not fit its manifest is refused.

    \b
        gpudx open crash.gpudx.zip && gpudx report gpudx-cases/...
        gpudx open crash.gpudx.zip -o from-ci

    Exit status: 0 if it was unpacked, 2 if it was refused.
    """
    from gpudx.cases.bundle import unpack
    from gpudx.cli.cases import new_case
    from gpudx.lab.environment import size_of
    from gpudx.report.safe import full

    size = size_of(most)
    if not size:
        raise UserError(f"--most {most} is not a size: give for example 500M or 64G.")
    with new_case(output, bundle.name.removesuffix(".gpudx.zip")) as place:
        unpack(bundle, place, size)
    click.echo(json.dumps({"case": str(place)}, indent=1) if as_json else full(str(place)))
