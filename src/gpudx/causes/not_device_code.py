"""What was given as device code is something else."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="not-device-code",
    title="What was given as device code is something else",
    refutes_if="The image would begin as a cubin, as PTX or as a fat binary.",
    fix=(
        "Look at what the image is read from: a file that is missing, cut short, compressed or a pointer to another.",
    ),
    predicts=(("recorded", "loading the image fails, on every device"),),
    kind=FIXED,
)
