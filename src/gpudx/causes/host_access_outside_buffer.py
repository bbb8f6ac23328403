"""The program's own code accessed memory beside a buffer, or a buffer that it had released.

It got a pointer by mapping the buffer, and used it beyond the mapped range or after the buffer was gone. No kernel and no
driver was involved.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="host-access-outside-buffer",
    title="The program's own code accessed memory outside a buffer",
    refutes_if="The thread that faulted would have been in a kernel or in a call.",
    fix=(
        "Keep to the range that was mapped: compare the loop at the line shown with the size given to the mapping call.",
        "Do not use the pointer after unmapping or releasing the buffer.",
    ),
    predicts=(("fenced", "a thread of the program faults in the pages beside a buffer"),),
    kind=MEMORY,
)
