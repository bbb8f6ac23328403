"""The recorder compares host memory that kernels are passed, at the launch and before the program next waits.

Memory that changed and that no kernel may have written was changed by the host under a running kernel. A clean run says nothing of
memory that kernels write, of bytes that are not among those compared, and of what the host only reads.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "host-memory"
COST = 1.2
SETTING = "GPUDX_HOST_ARGS"  # native/opencl/host_args.h


def missing(context: Context) -> str | None:
    return None if "opencl" in context.apis else "the program makes no OpenCL calls"


def how(context: Context) -> How:
    return replace(context.how, extra_env={**context.how.extra_env, SETTING: "1"})
