"""Runs the program under a setting of its API's runtime. Each of them only hides a failure."""

from __future__ import annotations

from functools import partial

from gpudx import backends
from gpudx.lab.experiments import Context, Row
from gpudx.model.how import How
from gpudx.model.investigation import NO_SETTING


def why_missing(context: Context, experiment: str) -> str | None:
    """A program that runs like that already would only be run once more."""
    wanted = backends.experiment(experiment, context.apis)
    if not wanted:
        return NO_SETTING
    plain = {**context.environment, **context.how.extra_env}
    if all(plain.get(name) == value for name, value in wanted.items()):
        return "the program already runs like that"
    return None if context.launches else "the program makes no launch"


def under(context: Context, experiment: str) -> How:
    more = backends.experiment(experiment, context.apis)
    return context.how.under(more)


def _row(name: str, cost: float, text: str) -> Row:
    missing, how = partial(why_missing, experiment=name), partial(under, experiment=name)
    return Row(__name__, name, cost, text, missing=missing, how=how, MITIGATES=True)


ROWS = (
    _row(
        "blocking",
        1.5,
        """Each launch call returns only when its kernel has ended (CUDA_LAUNCH_BLOCKING=1, HIP_LAUNCH_BLOCKING=1).

If the failure goes away, it depends on order or timing, and is only hidden. If it stays, another call may report it: the report moved,
not the fault.""",
    ),
    _row(
        "amd-serialised",
        1.5,
        """The HIP runtime waits before and after each launch and each copy (AMD_SERIALIZE_KERNEL=3, AMD_SERIALIZE_COPY=3).

Copies wait too, unlike under `serialised`. If the failure goes away, it depends on the order or timing of launches or copies. This names
no cause, and hides the failure without fixing it. Work of other host threads may still overlap.""",
    ),
    _row(
        "without-sdma",
        2.0,
        """Copies are made by kernels instead of the device's copy engines (HSA_ENABLE_SDMA=0).

If the failure goes away, it depends on how copies by the engines are ordered with other work. This names no cause: it does not show
which copy must wait, and for what, and copies take a different time. If it stays, it does not come from the engines; copies may still
race.""",
    ),
)
