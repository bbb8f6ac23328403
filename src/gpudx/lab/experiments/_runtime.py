"""What the experiments share that are settings of an API's own runtime (EXPERIMENTS of a backend)."""

from __future__ import annotations

from gpudx import backends
from gpudx.lab.experiments import Context
from gpudx.model.how import How


def why_missing(context: Context, experiment: str) -> str | None:
    """A program that runs like that already would only be run once more."""
    wanted = backends.experiment(experiment, context.apis)
    if not wanted:
        return "no runtime that the program uses has such a setting"
    plain = {**context.environment, **context.how.extra_env}
    if all(plain.get(name) == value for name, value in wanted.items()):
        return "the program is run like that already"
    return None if context.launches else "the program makes no launch"


def under(context: Context, experiment: str) -> How:
    more = backends.experiment(experiment, context.apis)
    return context.how.under(more)
