"""Runs the program with one setting of the recorder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudx.lab.experiments import Context, Row, needs_gpu_calls, needs_launch
from gpudx.lab.poisoned import UNLIKE
from gpudx.model.how import How, Watch
from gpudx.model.investigation import NOT_TORCH

PERTURB = "GPUDX_PERTURB"  # native/core/perturb.h
HOST_ARGS = "GPUDX_HOST_ARGS"  # native/opencl/host_args.h


def _with(**changes: Any) -> Callable[[Context], How]:
    return lambda context: replace(context.how, **changes)


def _no_launch(what_for: str) -> Callable[[Context], str | None]:
    return lambda context: None if context.launches else f"the program makes no launch to {what_for}"


def no_opencl(context: Context) -> str | None:
    return None if "opencl" in context.apis else "the program makes no OpenCL calls"


ROWS = (
    Row(
        __name__,
        "watched",
        4.0,
        """Compares memory whenever the program has waited, and reports what changed although no work in between was passed it.

This shows writes that land in other live memory, which no fence catches. Writes that leave the values as they were are not seen, so a
clean run refutes nothing.""",
        missing=needs_gpu_calls,
        how=_with(watch=Watch(again=False)),
    ),
    Row(
        __name__,
        "perturbed",
        1.5,
        """Adds small random delays before launches, different ones in each run.

If the failure rate changes, timing matters. If it stays, timing may still matter: the delays are short.""",
        missing=_no_launch("delay"),
        how=lambda context: context.how.under({PERTURB: str(context.turn + 1)}),
    ),
    Row(
        __name__,
        "serialised",
        1.5,
        """Waits after each launch, so that no two operations overlap on a queue.

If the failure goes away, it depends on order or timing. This names no cause: the wait also slows the host down, and hides the failure
without fixing it. If it stays, it does not come from overlapping launches.""",
        missing=_no_launch("wait for"),
        how=_with(serialise=True),
        MITIGATES=True,
    ),
    Row(
        __name__,
        "poisoned",
        1.5,
        """Fills fresh memory with a pattern, a different one in each run.

If the pattern is read back, the program read uninitialized memory. If it is not, this proves nothing: a value computed from it no
longer looks like it. But if every byte that reaches the program is seen, and all of them and all output are the same with numbers
below, above and at zero in fresh memory, nothing that the program does depends on what that memory holds.""",
        missing=needs_gpu_calls,
        how=lambda context: replace(context.how, poison=UNLIKE[context.turn % len(UNLIKE)]),
    ),
    Row(
        __name__,
        "host-heap",
        1.3,
        """Logs the program's heap: which block was allocated and freed, when, and from which line.

Transfers, and buffers on host memory, are compared with the blocks that they are in. Memory on the stack, in globals, from mmap or from
the program's own allocator is in no block and is not checked.""",
        missing=no_opencl,
        how=_with(heap=True),
    ),
    Row(
        __name__,
        "host-memory",
        1.2,
        """Compares the host memory that kernels use, at the launch and before the program next waits.

If it changed, and no kernel can have written it, the host changed it under a running kernel. A clean run says nothing about memory that
kernels write, about bytes that were not compared, or about reads by the host.""",
        missing=lambda context: no_opencl(context) or needs_launch(context),
        how=lambda context: context.how.under({HOST_ARGS: "1"}),
    ),
    Row(
        __name__,
        "indices",
        1.5,
        """Compares PyTorch's index arguments with the sizes that they index, before each operator that uses them.

An index out of range is reported with its tensor, position and value. Each check waits for the device, so a failure that goes away
depends on timing. A clean run shows that the indices of operators called from Python lines in the main thread were valid.""",
        missing=lambda context: None if "torch" in context.frameworks else NOT_TORCH,
        how=_with(indices=True),
    ),
)
