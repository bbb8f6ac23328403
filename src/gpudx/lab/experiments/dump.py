"""The driver writes a core dump of the device when a kernel faults, and then ends the program.

The dump names the kernel, block, thread and instruction that faulted, with its registers. The program ends in the driver (SIGABRT)
instead of continuing, so its exit status says nothing about the failure. On AMD devices ROCm's debug agent writes the waves that stopped.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.backends.cuda.dumps import ABORTING
from gpudx.backends.hip.agent import LIBRARY, found
from gpudx.lab.experiments import Context
from gpudx.model.how import How
from gpudx.model.investigation import NO_DUMP

ID = "dump"
COST = 2.0


def missing(context: Context) -> str | None:
    if "cuda" in context.apis:
        return None
    if "hip" not in context.apis:
        return NO_DUMP
    return None if found(context.environment) else f"ROCm's debug agent is not installed ({LIBRARY})"


def how(context: Context) -> How:
    return replace(context.how.under(ABORTING), dump=True)
