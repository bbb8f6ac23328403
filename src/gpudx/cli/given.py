"""The options of a command line, as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gpudx.model import Given

NOT_AGAIN = ("case", "quiet", "as_json", "output")  # there is a case in that place now; the others change nothing about the runs


def given(context: click.Context) -> Given:
    """Names and values, one pair for each; a flag has no value. Not those that the environment or a default gave."""
    return tuple(_each(context))


def _each(context: click.Context) -> Iterator[tuple[str, str]]:
    for one in context.command.params:
        source = context.get_parameter_source(one.name) if one.name and one.param_type_name == "option" else None
        if source is not None and source.name == "COMMANDLINE" and one.name not in NOT_AGAIN:
            for value in _values(context.params[str(one.name)]):
                yield one.opts[0], _text(value)


def _values(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    if value is True:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def joined(earlier: Given, later: Given) -> Given:
    """What is said again replaces what was said before."""
    again = {name for name, _ in later}
    return (*(pair for pair in earlier if pair[0] not in again), *later)
