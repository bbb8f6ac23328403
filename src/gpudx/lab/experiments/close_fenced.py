"""Memory against the upper of two fences at multiples of four bytes, so that almost no slack lies before the fence.

An access that lands in the few bytes which the API's alignment leaves behind a buffer meets the fence here. Kernels that load
vectors from the start of a buffer may need more alignment than this: a fault that is a misaligned access says nothing.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_gpu_calls
from gpudx.model.how import Fence, How

ID = "close-fenced"
COST = 1.5
ALIGN = 4  # of the smallest type that most kernels index by
missing = needs_gpu_calls


def how(context: Context) -> How:
    return replace(context.how, fence=Fence("high", ALIGN))
