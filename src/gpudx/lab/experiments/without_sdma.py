"""Copies are made by kernels instead of the device's copy engines (HSA_ENABLE_SDMA=0).

A failure that goes depends on how copies by the engines are ordered with other work. It names no cause: which copy must wait, and
for what, is not said, and copies take another time. One that stays does not come from the engines; copies may still race.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._runtime import under, why_missing
from gpudx.model.how import How

ID = "without-sdma"
COST = 2.0
MITIGATES = True


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
