"""The HIP runtime itself waits before and after each launch and each copy (AMD_SERIALIZE_KERNEL=3, AMD_SERIALIZE_COPY=3).

Copies wait too, unlike under `serialised`. A failure that goes depends on the order or timing of launches or copies; that it
goes names no cause, and hides what it does not mend. Work of other host threads may still overlap.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._runtime import under, why_missing
from gpudx.model.how import How

ID = "amd-serialised"
COST = 1.5
MITIGATES = True


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
