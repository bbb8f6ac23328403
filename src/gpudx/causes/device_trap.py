"""The kernel ran into a trap.

A trap is an instruction that stops the kernel: written by the programmer, left by a failed assertion, or put there by the
compiler in place of code it could prove to be wrong.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED
from gpudx.model import Prediction

CAUSE = Cause(
    id="device-trap",
    title="The kernel ran into a trap",
    refutes_if="The device would report another kind of exception at this place.",
    fix=(
        "Read the compiler's warnings for this kernel: code that it can prove to be wrong is replaced by a trap.",
        "If the source has no __trap() or assert at the named line, disassemble the kernel and look for what is missing.",
    ),
    predicts=(("recorded", "the device reports a trap in this launch"),),
    kind=FIXED,
    apart=(Prediction("memcheck", "shown", "the tool names the trap"),),
)
