"""An argument was given with another size than the kernel declares.

Some drivers refuse it, some copy what they are given: the kernel then reads bytes that were never set.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="argument-size",
    title="An argument was given with another size than the kernel declares",
    refutes_if="The declared type would have the size that was passed on this device.",
    fix=(
        (
            "Pass sizeof of a host type with the same size and layout as the declared one; mind 3-component "
            "vectors (4 wide), tail padding and packed structures."
        ),
    ),
    predicts=(("recorded", "the call is refused or the kernel reads bytes that were not set"),),
    kind=FIXED,
)
