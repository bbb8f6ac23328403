"""Compares PyTorch's index arguments with the sizes that they index, before each operator that uses them.

An index out of range is reported with its tensor, position and value. Each check waits for the device, so a failure that goes away
depends on timing. A clean run shows that the indices of operators called from Python lines in the main thread were valid.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import How
from gpudx.model.investigation import NOT_TORCH

ID = "indices"
COST = 1.5


def missing(context: Context) -> str | None:
    return None if "torch" in context.frameworks else NOT_TORCH


def how(context: Context) -> How:
    return replace(context.how, indices=True)
