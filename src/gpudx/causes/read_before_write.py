"""A buffer was read before anything wrote it.

Fresh device memory holds whatever was there before: zeros today, another tensor tomorrow.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNINITIALISED

CAUSE = Cause(
    id="read-before-write",
    title="A buffer was read before anything wrote it",
    refutes_if="A write, a fill, a map for writing or a launch that may write it would precede the read.",
    fix=("Fill the buffer after creating it, or write it before the first read.",),
    predicts=(("recorded", "no write precedes the read"),),
    kind=UNINITIALISED,
)
