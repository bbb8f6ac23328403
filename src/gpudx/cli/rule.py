"""gpudx rule: what an id in a report means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument
from gpudx.cli.options import AsJson
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.rules import Entry

MOST_NEAR = 4
WIDEST = 100  # columns
ROW = re.compile(r"( +\S.*?  +)(\S.*)")  # of a table, or code with a comment


def command(
    name: Annotated[str, Argument(metavar="NAME", help="An id from a report. Without it, list all ids.")] = "",
    as_json: AsJson = False,
) -> None:
    """Explain an id: a detector, a cause, an experiment, a log format, a gate, a lint rule or a tool's report.

    \b
        gpudx rule use-after-free
        gpudx rule                      # list all ids

    Exit status: 0; 2 for a name that is not known.
    """
    from gpudx.cli.page import page_here
    from gpudx.rules import entries
    from gpudx.rules.reported import family

    width = min(page_here().width, WIDEST)
    if as_json and not name:
        click.echo(json.dumps([asdict(one) for one in entries()], indent=1))
        return
    if not name:
        click.echo("\n".join(_listed(entries(), width)))
        return
    wanted = (name, f"lint-{name}", family(name))  # findings of lint are printed without it
    found = [one for one in entries() if one.name in wanted]
    if not found:
        raise UserError(_unknown(name))
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
        return
    click.echo("\n\n".join(f"{one.name} ({one.kind})\n\n{_fitted(one.text, width)}" for one in found))


def values() -> list[str]:
    """What the argument can be, for completion."""
    from gpudx.rules import entries

    return sorted({one.name for one in entries() if "*" not in one.name})


def _fitted(text: str, width: int) -> str:
    """Paragraphs, list items and rows of tables as wide as that."""
    return "\n\n".join("\n".join(_lines(part, width)) for part in text.split("\n\n"))


def _lines(part: str, width: int) -> Iterator[str]:
    from gpudx.report.layout import wrapped

    if part.startswith(" ") or ("\n " in part and not part.startswith("- ")):
        for line in part.split("\n"):
            row = ROW.match(line) if len(line) > width else None
            yield from wrapped(row[2], width, row[1]) if row else [line]
        return
    for item in re.split(r"\n(?=- )", part):
        yield from wrapped(item, width, rest="  " if item.startswith("- ") else "")


def _listed(entries: tuple[Entry, ...], width: int) -> Iterator[str]:
    from gpudx.report.layout import wrapped

    column = max(len(one.name) for one in entries)
    kind = ""
    for one in entries:
        if one.kind != kind:
            yield f"{'' if not kind else chr(10)}{one.kind}s"
            kind = one.kind
        yield from wrapped(one.title, width, f"  {one.name:{column}}  ")


def _unknown(name: str) -> str:
    known = values()
    alike = [*get_close_matches(name, known, MOST_NEAR), *(one for one in known if name in one)]
    near = list(dict.fromkeys(alike))[:MOST_NEAR]
    hint = f"did you mean {' or '.join(near)}?" if near else "`gpudx rule` lists all of them."
    return f"There is no rule {name!r}: {hint}"
