"""Which call set an argument of a launch."""

from __future__ import annotations

from gpudx.facts import Facts
from gpudx.model import Site


def set_at(facts: Facts, row: int, argument: int) -> int | None:
    """The position of the call that set an argument as a launch (a row of Launches) got it."""
    given = facts.set_args
    mine = (given.kernel_row == facts.launches.kernel_row[row]) & (given.index == argument) & (given.status == 0)
    before = given.position[mine & (given.position < facts.launches.position[row])]
    return int(before[-1]) if len(before) else None


def setter(facts: Facts, row: int, argument: int) -> Site | None:
    """The site of that call."""
    position = set_at(facts, row, argument)
    return None if position is None else facts.sites.at(position, argument=argument)
