"""Work used memory of a stream's pool that its stream might not have allocated yet.

The address is given at once; the memory is the program's only when the stream reaches the allocation.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME

CAUSE = Cause(
    id="use-before-allocation",
    title="Work used memory of a queue's pool that the queue might not have allocated yet",
    refutes_if="The data would still be wrong with a wait for the allocating queue right after the allocation.",
    fix=(
        "Let the using queue wait for an event that is recorded after the allocation.",
        "Allocate in the queue that uses the memory.",
    ),
    predicts=(("recorded", "nothing orders the allocation before the first use"),),
    kind=LIFETIME,
)
