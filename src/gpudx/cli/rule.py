"""gpudx rule: what an id in a report means."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.rules import Entry

MOST_NEAR = 4


def command(
    name: Annotated[str, Argument(metavar="NAME", help="An id from a report. Without it, list all ids.")] = "",
) -> None:
    """Explain an id: a detector, a cause, an experiment, a log format, a gate or a lint rule.

    \b
        gpudx rule use-after-free
        gpudx rule                      # list all ids

    Exit status: 0; 2 for a name that is not known.
    """
    from gpudx.rules import entries

    if not name:
        click.echo("\n".join(_listed(entries())))
        return
    found = [one for one in entries() if one.name == name]
    if not found:
        raise UserError(_unknown(name))
    click.echo("\n\n".join(f"{one.name} ({one.kind})\n\n{one.text}" for one in found))


def values() -> list[str]:
    """What the argument can be, for completion."""
    from gpudx.rules import entries

    return sorted({one.name for one in entries()})


def _listed(entries: tuple[Entry, ...]) -> Iterator[str]:
    width = max(len(one.name) for one in entries)
    kind = ""
    for one in entries:
        if one.kind != kind:
            yield f"{'' if not kind else chr(10)}{one.kind}s"
            kind = one.kind
        yield f"  {one.name:{width}}  {one.title}"


def _unknown(name: str) -> str:
    known = values()
    alike = [*get_close_matches(name, known, MOST_NEAR), *(one for one in known if name in one)]
    near = list(dict.fromkeys(alike))[:MOST_NEAR]
    hint = f"did you mean {' or '.join(near)}?" if near else "`gpudx rule` lists all of them."
    return f"There is no rule {name!r}: {hint}"
