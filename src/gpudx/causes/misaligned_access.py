"""A kernel accessed memory at an address that its type does not allow.

Loads and stores of 2, 4, 8 or 16 bytes need addresses that are multiples of their size. An odd offset, a cast to a wider
type, or a pointer into the middle of packed data breaks that.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="misaligned-access",
    title="A kernel accessed memory at an address that its type does not allow",
    refutes_if="The address would be a multiple of the access's size.",
    fix=("Align the offset on the host, or load with a narrower type in the kernel.",),
    predicts=(("recorded", "the device reports a misaligned address in this launch"),),
    kind=FIXED,
)
