"""Runs the program with other values of one number (`--vary NAME=v1,v2,...`): a smaller and a larger launch.

NAME is `{NAME}` in the command, else an environment variable. Plain runs use the last value, which should fail. The values that fail and
those that pass show how large it must be, not why. If they split cleanly, the report names the boundary.
"""

from __future__ import annotations

from gpudx.errors import UserError
from gpudx.lab.experiments import Context
from gpudx.model import Asked
from gpudx.model.how import How

ID = "sized"
COST = 1.0
ASKED = True


def check(context: Context) -> None:
    name, values = context.asked.name, context.asked.values
    if context.asked.vary and (not name.isidentifier() or len(set(values)) < 2 or len(set(values)) < len(values)):
        raise UserError(
            f"--vary {context.asked.vary} is not NAME=v1,v2,...: give a name and at least two different values."
        )


def missing(context: Context) -> str | None:
    return None if context.asked.vary else "--vary NAME=v1,v2,... was not given"


def variants(context: Context) -> tuple[str, ...]:
    """All but the last value, which the plain runs have."""
    return tuple(f"{context.asked.name}={value}" for value in context.asked.values[:-1])


def how(context: Context) -> How:
    return context.how.under(variable(context.template, context.variant))


def command(context: Context) -> tuple[str, ...]:
    return filled(context.template, context.variant)


def of_plain_runs(asked: Asked) -> str:
    """NAME=value of the plain runs; "" when nothing is varied."""
    return f"{asked.name}={asked.values[-1]}" if asked.values else ""


def variable(template: tuple[str, ...], pair: str) -> dict[str, str]:
    """The environment variable for "NAME=value", unless the command has a place for it."""
    name, _, value = pair.partition("=")
    return {} if not name or any(f"{{{name}}}" in word for word in template) else {name: value}


def filled(template: tuple[str, ...], pair: str) -> tuple[str, ...]:
    """The command with "NAME=value" in its place."""
    name, _, value = pair.partition("=")
    return tuple(word.replace(f"{{{name}}}", value) for word in template) if name else template
