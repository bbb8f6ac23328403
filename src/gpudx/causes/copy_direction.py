"""A copy goes the wrong way, or one of its sides is memory of the other kind."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="copy-direction",
    title="A copy was given host memory for device memory, or the reverse",
    refutes_if="Each side of the copy would be memory of the kind that the call takes there.",
    fix=("Give the destination first and the source second, with the direction that fits the two.",),
    predicts=(("recorded", "the driver refuses the copy, or dies in it"),),
    kind=FIXED,
)
