"""PyTorch's index arguments are compared with the sizes that they index, before each operator that uses them.

An index that is out of range is named with its tensor, position and value. Every look waits for the device, so a failure that goes
depends on timing. A run without a finding says that the indices of operators that Python lines call, in the main thread, were valid.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "indices"
COST = 1.5


def missing(context: Context) -> str | None:
    return None if "torch" in context.frameworks else "the program does not use PyTorch"


def how(context: Context) -> How:
    return replace(context.how, indices=True)
