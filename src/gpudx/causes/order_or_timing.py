"""The order or timing of launches on the device decides.

A wait after each launch, another pace or another order of threads changes how often it fails. That is all it says: which two
pieces of work must not overlap is not known from it. A wait is a mitigation, never a cause. Copies are not waited for, so a
failure that stays says nothing about a race between a copy and something else.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import ORDER

CAUSE = Cause(
    id="order-or-timing",
    title="The order or timing of launches on the device decides",
    refutes_if="The failure would stay as frequent with a wait after each launch.",
    fix=(
        "Look for two pieces of work on the same memory that no event, queue or wait puts in order; order these two.",
        "Until then, waiting after each launch hides it, at the price of all overlap.",
    ),
    predicts=(("recorded", "it fails in some runs, or at different places"),),
    settled_by="the two pieces of work, and a run in which only these are put in order",
    kind=ORDER,
)
