"""--probe MARK, of the commands that have it."""

from __future__ import annotations

from typing import Annotated

from gpudx.cli.declare import Option
from gpudx.errors import UserError

SHORTEST_MARK = 3
Probe = Annotated[
    list[str] | None,
    Option(
        metavar="MARK",
        help="Check that MARK is in the program that ran, and that it was reached: TEXT it prints, sym:NAME or FILE:LINE. May be repeated.",
    ),
]


def probes(marks: list[str] | None) -> tuple[str, ...]:
    """Marks of one letter are everywhere."""
    short = next((mark for mark in marks or () if len(mark.strip()) < SHORTEST_MARK), None)
    if short is not None:
        raise UserError(
            f"--probe {short!r} is too short and may match by chance: give at least {SHORTEST_MARK} letters."
        )
    return tuple(marks or ())
