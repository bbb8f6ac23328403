"""The driver crashed inside a call of the program.

The call in flight is certain; why it crashed follows from its values only if one of them is wrong.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="crash-in-call",
    title="The driver crashed inside a call of the program",
    refutes_if="The faulting thread would not have been inside this call.",
    fix=(
        (
            "Check each value of the call shown; a value close to the fault address is what the driver used as a "
            "pointer."
        ),
    ),
    predicts=(("recorded", "the call is in flight when the signal arrives"),),
    settled_by="a run on another driver",
)
