"""Memory was freed while work that uses it might still have been running.

Memory of a stream's pool is free when that stream reaches the free; other streams are not asked.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME, MENDED

CAUSE = Cause(
    id="freed-while-in-use",
    title="Memory was freed while work that uses it might still have been running",
    refutes_if="The fault would still be there with a wait for the whole device right before the free.",
    fix=(
        "Free in the queue of the last use, or let the freeing queue wait for an event behind that use.",
        "Where memory is freed at once, wait for the work first.",
    ),
    predicts=(("recorded", "nothing orders the last use of the memory before its free"),),
    kind=LIFETIME,
    apart=MENDED,
)
