"""OpenCL kernels check their own accesses, races, barriers and arithmetic, on the program's own device.

What they report is there, with source line, work-item, argument and distance. Kernels that could not be rewritten, and programs from
binaries, run as they are: a clean run says nothing of these.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.errors import UserError
from gpudx.lab import kernel_checked
from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "checked"
COST = 3.0


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    try:
        kernel_checked.wanted("opencl")
    except UserError as error:
        return str(error)
    return None


def how(context: Context) -> How:
    return replace(context.how, kernel_checks=kernel_checked.wanted("opencl"))
