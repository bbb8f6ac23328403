"""A capture was lost because of a call that cannot be made during one.

Nothing runs while work is being captured, so waits, queries and allocations at once are refused, and end the capture.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="capture-broken",
    title="A capture was lost because of a call that cannot be made during one",
    refutes_if="The capture would have been lost without this call too.",
    fix=(
        "Move the call before or behind the capture.",
        "Where another thread made it, begin the capture in the thread-local mode.",
    ),
    predicts=(("recorded", "the first refused call lies between the beginning of the capture and its end"),),
)
