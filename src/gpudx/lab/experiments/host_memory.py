"""Compares the host memory that kernels use, at the launch and before the program next waits.

If it changed, and no kernel can have written it, the host changed it under a running kernel. A clean run says nothing about memory that
kernels write, about bytes that were not compared, or about reads by the host.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_launch
from gpudx.model.how import How

ID = "host-memory"
COST = 1.2
SETTING = "GPUDX_HOST_ARGS"  # native/opencl/host_args.h


def missing(context: Context) -> str | None:
    return needs_launch(context) if "opencl" in context.apis else "the program makes no OpenCL calls"


def how(context: Context) -> How:
    return replace(context.how, extra_env={**context.how.extra_env, SETTING: "1"})
