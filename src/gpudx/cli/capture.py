"""gpudx capture: run the program of a case again, and keep the guilty launch as a capsule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import ResultAsJson, StopAfter
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.facts import Facts
    from gpudx.model import Case

NONE = 1


def command(
    case: Annotated[Path, Argument(metavar="CASE", help="A case whose diagnosis names a launch.")],
    made: Annotated[Path | None, Option("--case", metavar="DIR", help="Write the new case to DIR. [./gpudx-cases/...]")] = None,
    limit: Annotated[
        str | None, Option("--capture-limit", metavar="SIZE", help="Capture it only if it reaches at most SIZE bytes of memory. [1G]")
    ] = None,
    no_data: Annotated[bool, Option("--no-data", help="Leave out the contents of buffers.")] = False,
    timeout: StopAfter = None,
    as_json: ResultAsJson = False,
) -> None:
    """Run the program of a case again and capture the launch that its diagnosis names.

    The launch is identified by its kernel and its number among the launches of that kernel.

    \b
        gpudx run --case broken -- ./app
        gpudx capture broken
        gpudx replay CAPSULE --sanitize

    Exit status: 0 if the launch was captured, 1 if not, 2 if the case names no launch.
    """
    from gpudx.cli import capturing
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import run_and_tell
    from gpudx.cli.speak import say
    from gpudx.cli.stating import load
    from gpudx.lab import program
    from gpudx.model.how import How

    earlier, facts = load(case, first_run=True)
    text = launch_of(earlier, facts)
    wanted = capturing.wanted(text, limit, no_data, None)
    assert wanted is not None
    words = list(earlier.command)
    program.find(words)
    say(f"running the program again to capture launch {wanted.launch} of {wanted.kernel}")
    with new_case(made, words[0]) as directory:
        told = run_and_tell(words, directory, How(capture=wanted, timeout=timeout), quiet=True)
        found = capturing.collected(told.run, directory, no_data)
    if as_json:
        what = {"case": str(directory), "kernel": wanted.kernel, "launch": wanted.launch}
        click.echo(json.dumps(what | capturing.as_data(found), indent=1))
    else:
        capturing.tell(found, wanted, quiet=False)
    if not any(one.path for one in found):
        raise click.exceptions.Exit(NONE)


def launch_of(case: Case, facts: list[Facts]) -> str:
    """The guilty launch as KERNEL#N."""
    for entry in case.diagnosis:
        guilty = entry.guilty
        if guilty and guilty.kernel:
            return f"{guilty.kernel}#{_number(guilty.kernel, guilty.launch, facts)}"
    raise UserError(
        f"The case {case.directory} names no guilty launch: choose one of `gpudx show {case.directory} launches`, and use"
        " gpudx run --capture KERNEL#N."
    )


def _number(kernel: str, launch: int | None, facts: list[Facts]) -> int:
    """Its number among the launches of its kernel; 1 where the record does not say."""
    import numpy as np

    for one in facts:
        rows = one.launches.kernel_row
        named = (rows >= 0) & np.isin(one.kernels.functions(rows), one.kernels.named(kernel))
        if launch is not None and launch <= len(rows) and named[launch - 1]:
            return int(np.count_nonzero(named[:launch]))
    return 1
