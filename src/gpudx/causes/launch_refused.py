"""A launch asked for more than the device or the kernel allows."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="launch-refused",
    title="A launch asked for more than the device or the kernel allows",
    refutes_if="The sizes would be within every limit that the device reports.",
    fix=(
        (
            "Choose sizes within the limits shown; ask for the kernel's own limit (clGetKernelWorkGroupInfo) "
            "instead of the device's."
        ),
    ),
    predicts=(("recorded", "the launch call fails"),),
    kind=FIXED,
)
