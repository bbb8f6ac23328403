"""Two threads gave one queue work on the same memory at the same time.

A queue runs work in the order in which the calls happen to be made; threads that do not order themselves leave it to chance.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNORDERED

CAUSE = Cause(
    id="queue-driven-by-threads",
    title="Two threads gave one queue work on the same memory at the same time",
    refutes_if="The result would still change from run to run with one thread, or with a lock around both calls.",
    fix=(
        "Order the threads: the second makes its call only when the first one's has returned.",
        "Give each thread a queue of its own, with events where one needs the other's results.",
    ),
    predicts=(("recorded", "calls of two threads overlap in time and give one queue work on the same memory"),),
    kind=UNORDERED,
)
