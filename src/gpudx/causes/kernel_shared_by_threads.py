"""Two threads drove one kernel object at the same time.

Arguments belong to the kernel object. Setting them is the one call that is not safe on the same object from several
threads (OpenCL 1.2 specification, appendix A.2): one thread's launch takes the other's buffers, or the driver's own state
breaks.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import THREADS
from gpudx.model import Prediction

CAUSE = Cause(
    id="kernel-shared-by-threads",
    title="Two threads drove one kernel object at the same time",
    refutes_if="With one kernel object per thread, or with one host thread, the failure would stay.",
    fix=(
        "Give each thread its own kernel object (clCreateKernel or clCloneKernel per thread). Costs a little memory each.",
        (
            "Or hold one lock from the first clSetKernelArg to the end of the launch call. This serialises "
            "launches of that kernel."
        ),
    ),
    predicts=(("recorded", "calls of two threads on one kernel object interleave or overlap"),),
    settled_by="gpudx investigate: runs in which threads take turns on a kernel object, or with one host thread",
    kind=THREADS,
    apart=(Prediction("turns", "gone", "no launch takes what another thread set"),),
)
