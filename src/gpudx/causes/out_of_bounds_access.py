"""A kernel accessed memory outside the buffer it was given.

The device stopped the kernel at the instruction that did it. Whatever reported the error on the host only noticed it.
Either the kernel's index runs past what the host allocated (a stride, a size or a guard is wrong), or the host allocated
less than the launch needs (sizes from another place than the launch's own).
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="out-of-bounds-access",
    title="A kernel accessed memory outside the buffer it was given",
    refutes_if="The faulting address would lie inside a live allocation that the launch was given.",
    fix=(
        "Compare the size of the allocation with what the launch's grid and size arguments can reach; correct the smaller.",
        "If the size came from defaults, compute it from the same numbers that the launch uses.",
    ),
    predicts=(("recorded", "the device reports an illegal address in this launch"),),
    settled_by="the address of the access: gpudx run --sanitize or --dump tells it, or --fence where each buffer is memory of its own",
    kind=MEMORY,
)
