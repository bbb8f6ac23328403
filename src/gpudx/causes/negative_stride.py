"""A kernel was given a negative size or stride.

The index goes far below the memory.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="negative-stride",
    title="A kernel was given a negative size or stride",
    refutes_if="The kernel would be made for negative values there.",
    fix=("Compute sizes in 64 bits, and check them before the launch.",),
    predicts=(("recorded", "a number is negative where the others are sizes"),),
    kind=FIXED,
)
