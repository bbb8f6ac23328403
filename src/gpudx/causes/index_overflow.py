"""An index computed in 32 bits passes 2^31.

Products of dimensions that were fine for years overflow when a model or a batch grows: the index turns negative and the
access lands gigabytes before the buffer.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="index-overflow",
    title="An index computed in 32 bits passes 2^31",
    refutes_if="The kernel would compute the index in 64 bits, or never form this product.",
    fix=(
        "Compute the index in 64 bits inside the kernel: (size_t)row * stride + column. Costs a register or two.",
        "Or split the launch so that no product reaches 2^31. Costs more launches.",
    ),
    predicts=(
        ("recorded", "sizes of the launch multiply past 2^31"),
        ("sized", "it fails from the size on at which the product passes 2^31"),
    ),
    settled_by="a run with sizes just below 2^31 / element size",
    kind=FIXED,
)
