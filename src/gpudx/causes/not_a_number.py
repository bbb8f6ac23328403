"""A kernel computes NaN or infinity.

Once made, NaN spreads through every later operation; what the program reports is far from where it began. The place named is
the first one in that work-item.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import IN_KERNEL

CAUSE = Cause(
    id="not-a-number",
    title="A kernel computes NaN or infinity",
    refutes_if="The operands at this line would already hold NaN or infinity.",
    fix=(
        "Check the operands at the named line: a division by zero, a logarithm or root of a negative number, or an overflow.",
    ),
    predicts=(("recorded", "results hold NaN or infinity although no call fails"),),
    kind=IN_KERNEL,
)
