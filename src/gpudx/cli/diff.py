"""gpudx diff: two recorded runs, launch by launch."""

from __future__ import annotations

import json
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import FormatJson
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.diff import Recording
    from gpudx.model.comparison import Comparison

DIFFERENT, CANNOT = 1, 2
# Written here, too, because the model is slow to import; a test compares them.
ASPECTS = ("processes", "allocations", "kernels", "geometry", "arguments", "errors", "environment", "objects", "ending")


class Form(StrEnum):
    """How it is shown."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"


def command(
    good: Annotated[Path, Argument(metavar="GOOD", help="The case of a good run.")],
    bad: Annotated[Path, Argument(metavar="BAD", help="The case of a bad run.")],
    format: Annotated[Form, Option("--format", "-f", help="Output format.")] = Form.terminal,
    as_json: FormatJson = False,
    ignore: Annotated[
        list[str] | None, Option(metavar="ASPECT", help=f"Leave out: {', '.join(ASPECTS)}. May be repeated.")
    ] = None,
    values: Annotated[
        bool, Option("--values", help="Compare the inputs and outputs of launches; record both runs with gpudx run --values.")
    ] = False,
) -> None:
    """Show where two recorded runs diverge: the first difference, then how many there are of each kind.

    Launches are aligned: a missing one does not make all later ones differ. Addresses, times, process and thread ids, and how threads
    interleave are not compared. Memory is identified by its allocation and the offset.

    \b
        gpudx run --keep all --case good -- ./app model-a
        gpudx run --keep all --case bad -- ./app model-b
        gpudx diff good bad
        gpudx diff --values good bad         # recorded with gpudx run --values
        gpudx diff good bad --ignore objects --ignore environment -f markdown

    Exit status: 0 if there is no difference, 1 if there is one, 2 if the cases cannot be compared.
    """
    if values:
        same, text = _values(good, bad)
        sys.stdout.write(text + "\n")
        raise click.exceptions.Exit(0 if same else DIFFERENT)
    from gpudx.diff import compare

    _check(ignore or [])
    try:
        made = compare(_load(good), _load(bad), ignore or ())
    except UserError as error:
        raise UserError(str(error), CANNOT) from None
    except Exception:
        traceback.print_exc()  # a bug of ours must not pass for a difference
        raise click.exceptions.Exit(CANNOT) from None
    sys.stdout.write(_shown(made, Form.json if as_json else format))
    raise click.exceptions.Exit(0 if made.same else DIFFERENT)


def _values(good: Path, bad: Path) -> tuple[bool, str]:
    """The first launch whose results differ, in one sentence."""
    from gpudx.capsule.values import Key, Launch, first_difference, launches
    from gpudx.cli.stating import load
    from gpudx.facts.fresh import passed_fresh
    from gpudx.lab.captured_launch import NAME

    found: list[dict[Key, Launch]] = []
    fresh: set[tuple[str, int, int]] = set()
    for place in (good, bad):
        kept = launches(place / NAME)
        if not kept:
            raise UserError(f"{place} has no hashes of values: record it with `gpudx run --values --case {place} -- CMD`.", CANNOT)
        found.append(kept)
        fresh |= passed_fresh(max(load(place)[1], key=lambda facts: len(facts.launches)))
    return first_difference(found[0], found[1], fresh)


def _check(ignore: list[str]) -> None:
    for name in ignore:
        if name not in ASPECTS:
            raise UserError(f"There is no aspect {name!r} to ignore: choose from {', '.join(ASPECTS)}.", CANNOT)


def _load(place: Path) -> Recording:
    from gpudx.cli.stating import load
    from gpudx.diff import Recording

    case, facts = load(place)
    return Recording(str(place), case, facts)


def _shown(made: Comparison, form: Form) -> str:
    from gpudx import casefile
    from gpudx.cli.page import page_here
    from gpudx.report import markdown, terminal
    from gpudx.report.diff import comparison

    if form == Form.json:
        return json.dumps(casefile.encode(made), indent=1) + "\n"
    outline = comparison(made)
    return terminal.show(outline, page_here()) if form == Form.terminal else markdown.show(outline)
