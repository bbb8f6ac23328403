"""A kernel was given the address of host memory.

The device cannot reach it, and faults at the first access.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="host-pointer-on-device",
    title="A kernel was given the address of host memory",
    refutes_if="The device would be able to access pageable memory, or the address be registered.",
    fix=(
        "Copy the data to the device and pass that address, or allocate it as managed or pinned memory (slower accesses).",
    ),
    predicts=(("recorded", "a pointer parameter lies on the host's heap or stack"),),
    kind=FIXED,
)
