"""Source and destination of one copy overlap: what it leaves there is not defined."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="copy-overlap",
    title="Source and destination of one copy overlap",
    refutes_if="No byte would be both read and written by the copy.",
    fix=(
        "Copy through a second buffer (costs its memory and a second copy), or move the data with a kernel that is written for it.",
    ),
    predicts=(("recorded", "the two sides of one copy share bytes"),),
    settled_by="a run with a second buffer between the two",
    kind=FIXED,
)
