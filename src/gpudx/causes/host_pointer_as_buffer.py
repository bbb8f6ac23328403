"""A host address was given where the kernel wants a memory object.

Kernels receive device memory through memory objects (or SVM pointers set with their own call). A malloc'ed pointer, the
address of a variable, or the handle where its address belongs is not one.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="host-pointer-as-buffer",
    title="A host address was given where the kernel wants a memory object",
    refutes_if="The value would name a live memory object.",
    fix=(
        (
            "Create a buffer (with the host pointer as its source if the data is there) and pass its handle: "
            "clSetKernelArg(k, i, sizeof(cl_mem), &buffer)."
        ),
        "For shared virtual memory use the call made for it instead of clSetKernelArg.",
    ),
    predicts=(("recorded", "the call is refused or the launch crashes"),),
    kind=FIXED,
)
