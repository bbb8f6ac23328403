"""gpudx bisect: which revision brought a failure in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import Budget, NewCase, Program, ResultAsJson
from gpudx.cli.speak import say
from gpudx.cli.times import duration
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model.bisection import Bisection, Tried

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
NOT_FOUND, CANNOT = 1, 2
SHORT = 12  # characters of a revision's name


def command(
    good: Annotated[str, Option(metavar="REV", help="A revision without the failure.")],
    bad: Annotated[str, Option(metavar="REV", help="A revision with the failure.")],
    build: Annotated[str, Option(metavar="CMD", help="Shell command that builds the program; `true` if none is needed.")],
    program: Program = None,
    runs: Annotated[int, Option(min=1, metavar="N", help="Runs of each revision; use more for intermittent failures.")] = 1,
    budget: Budget = "24h",
    timeout: Annotated[
        float | None, Option(parser=duration, metavar="TIME", help="Stop a run after TIME: 30s, 2m.")
    ] = None,
    case: NewCase = None,
    as_json: ResultAsJson = False,
) -> None:
    """Find the revision that introduced a failure, by its diagnosis.

    Runs in a git worktree of its own: your checkout is not touched. The failure is identified by the diagnosis of the bad revision:
    cause, guilty kernel, argument. A revision that fails in another way, or does not build, is skipped.

    \b
        gpudx bisect --good v1.2 --bad main --build 'make -j4' -- ./app
        gpudx bisect --good v1 --bad main --build true --runs 10 -- python a.py

    The program's path is relative to the current folder. Submodules are not checked out.

    Exit status: 0 if the revision was found, 1 if the remaining revisions could not be judged or the budget was used up, 2 if gpudx
    cannot do what was asked.
    """
    from gpudx.bisect.search import Asked, Bisector
    from gpudx.cli.cases import new_case
    from gpudx.cli.investigate import budget_seconds
    from gpudx.cli.running import analyse
    from gpudx.lab.trials import Interrupted

    if not program:
        raise UserError("There is no command to run: write it after --, as in `gpudx bisect ... -- ./app`.", CANNOT)
    asked = Asked(good, bad, build, tuple(program), Path.cwd(), runs, timeout, budget_seconds(budget))
    try:
        with new_case(case, "bisect") as place:
            made = Bisector(asked, place, analyse, _progress).run()
    except (KeyboardInterrupt, Interrupted):
        raise UserError("Stopped; the worktree was removed, your checkout is unchanged.", CANNOT) from None
    except UserError as error:
        raise UserError(str(error), CANNOT) from None
    _tell(made, place, as_json)
    raise click.exceptions.Exit(0 if made.first_bad else NOT_FOUND)


def _progress(tried: Tried) -> None:
    from gpudx.report.safe import clean

    say(clean(f"{tried.revision[:SHORT]} {tried.verdict:<4}  {tried.why}  ({tried.title})"))


def _tell(made: Bisection, place: Path, as_json: bool) -> None:
    from gpudx import casefile
    from gpudx.cli.page import paragraph, print_table
    from gpudx.report.brief import near

    if as_json:
        print(json.dumps(casefile.encode(made), indent=1))
        return
    if made.first_bad:
        paragraph(f"FIRST BAD REVISION {made.first_bad[:SHORT]} {made.title}", "gpudx: ")
    else:
        paragraph(f"NOT SETTLED: {', '.join(one[:SHORT] for one in made.candidates)}", "gpudx: ")
    paragraph(f"The failure: {made.failure}.")
    paragraph(made.ended)
    print()
    rows = [(one.revision[:SHORT], one.verdict, f"{one.failed} of {one.runs}", one.why) for one in made.tried]
    print_table(["revision", "is", "failed", "why"], rows)
    print(f"\n  more: gpudx report   case: {near(str(place))}")
