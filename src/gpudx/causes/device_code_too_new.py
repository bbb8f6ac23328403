"""The device code was made by a newer toolkit than the driver knows."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="device-code-too-new",
    title="The device code was made by a newer toolkit than the driver knows",
    refutes_if="The driver would be of the toolkit's version or newer.",
    fix=(
        "Update the driver to one that is not older than the toolkit that made the code.",
        "Or build machine code for the device, which needs no compiler in the driver, or build with an older toolkit.",
    ),
    predicts=(("recorded", "loading the code fails with this driver, on every device"),),
    kind=FIXED,
)
