"""Runs the program on Oclgrind's simulated OpenCL device, which checks every access of a kernel, races and barriers.

What it reports is real. It is hundreds of times slower than a device, so programs with many launches are left out. A clean run covers
this run's data only, and the device is not the program's own.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.errors import UserError
from gpudx.lab import simulated
from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "oclgrind"
COST = 100.0
MOST_LAUNCHES = 200


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    if context.launches > MOST_LAUNCHES:
        return f"{context.launches:,} launches would take too long in a simulator"
    try:
        simulated.find()
    except UserError as error:
        return str(error)
    return None


def how(context: Context) -> How:
    return replace(context.how, simulator=simulated.find())
