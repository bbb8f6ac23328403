"""CUPTI reports every failing call of the CUDA runtime.

The runtime refuses some calls itself, without a driver call that could be recorded. A reported call was refused there. A clean run
shows that no runtime call failed in it.
"""

from __future__ import annotations

from gpudx import native
from gpudx.backends.cuda import runtime
from gpudx.lab.experiments import Context
from gpudx.model.how import How
from gpudx.model.investigation import NOT_CUDA

ID = "runtime-errors"
COST = 1.3
VARIABLE = "GPUDX_RUNTIME_ERRORS"  # native/cuda/runtime_errors.c


def missing(context: Context) -> str | None:
    if "cuda" not in context.apis:
        return NOT_CUDA
    if context.environment.get(runtime.INJECTION):
        return f"{runtime.INJECTION} is set: another tool uses CUPTI in this program"
    return None if runtime.cupti() else "CUPTI is not installed (pip install nvidia-cuda-cupti)"


def how(context: Context) -> How:
    return context.how.under({VARIABLE: str(runtime.cupti()), runtime.INJECTION: str(native.library())})
