"""A barrier in a kernel is not reached by all the threads that it waits for.

A barrier in a branch that only some threads take, or behind an early return, is undefined: the kernel hangs, goes on
without waiting, or works on one generation of devices and not on the next.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import IN_KERNEL
from gpudx.model import Prediction

CAUSE = Cause(
    id="barrier-misuse",
    title="A barrier in a kernel is not reached by all the threads that it waits for",
    refutes_if="Every thread that the barrier counts would reach it, in the same turn of every loop around it.",
    fix=(
        "Move the barrier out of the branch, and let threads without work skip the work instead of returning.",
        "For a barrier of a part of a warp give the mask of exactly the threads that reach it.",
    ),
    predicts=(("recorded", "the kernel hangs, fails on the device, or gives wrong results"),),
    kind=IN_KERNEL,
    apart=(Prediction("synccheck", "shown", "the tool names the barrier"),),
)
