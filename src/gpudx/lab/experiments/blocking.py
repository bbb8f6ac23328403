"""Each launch returns when it has ended (CUDA_LAUNCH_BLOCKING=1, HIP_LAUNCH_BLOCKING=1).

A failure that goes depends on order or timing, and is only hidden. One that stays may be reported by another call than before: the
report moved, not the fault.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._runtime import under, why_missing
from gpudx.model.how import How

ID = "blocking"
COST = 1.5
MITIGATES = True


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
