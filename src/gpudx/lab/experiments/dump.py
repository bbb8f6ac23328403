"""The driver writes a core dump of the device when a kernel faults, and ends the program after it.

The dump names the kernel, block, thread and instruction that faulted, with its registers. The program ends in the driver (SIGABRT)
instead of going on: how it ends says nothing about the failure.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.backends.cuda.dumps import ABORTING
from gpudx.lab.experiments import NOT_CUDA, Context
from gpudx.model.how import How

ID = "dump"
COST = 2.0


def missing(context: Context) -> str | None:
    return None if "cuda" in context.apis else NOT_CUDA


def how(context: Context) -> How:
    return replace(context.how.under(ABORTING), dump=True)
