"""Threads of a kernel access the same memory without an order between them, and at least one writes.

Which access comes first changes from run to run, from device to device and with the compiler: the result is right most of
the time. A barrier is missing between the write and the other access, stands in a branch that not all threads take, or
the code relies on the threads of a warp running in step.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import IN_KERNEL
from gpudx.model import Prediction

CAUSE = Cause(
    id="race-in-kernel",
    title="Threads of a kernel race for the same memory",
    refutes_if="A barrier that both threads pass, or an atomic operation, would stand between the two accesses.",
    fix=(
        "Put __syncthreads() between the two accesses named, where all threads of the block reach it.",
        "Between threads of one warp use __syncwarp(); where several threads write one word use an atomic operation (slow when many do).",
    ),
    predicts=(("recorded", "results differ between runs although no call fails"),),
    kind=IN_KERNEL,
    apart=(Prediction("racecheck", "shown", "the tool names the two accesses"),),
)
