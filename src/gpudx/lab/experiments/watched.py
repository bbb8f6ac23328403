"""Compares memory whenever the program has waited, and reports what changed although no work in between was passed it.

This shows writes that land in other live memory, which no fence catches. Writes that leave the values as they were are not seen, so a
clean run refutes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_gpu_calls
from gpudx.model.how import How, Watch

ID = "watched"
COST = 4.0
missing = needs_gpu_calls


def how(context: Context) -> How:
    return replace(context.how, watch=Watch(again=False))
