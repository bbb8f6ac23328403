"""Host threads use something at the same time that only one may use at a time.

A handle, a current device, a cache or the program's own memory: which of them is not known from this alone.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import THREADS

CAUSE = Cause(
    id="threads-collide",
    title="Host threads use something at the same time that only one may use at a time",
    refutes_if="The failure would stay when only one thread makes GPU calls.",
    fix=(
        "Look for what two threads share without a lock: kernel objects, queues, the current device, caches of the program.",
        "Until then, one thread hides it, at the price of all the others.",
    ),
    predicts=(("recorded", "it fails only when several threads make calls"),),
    settled_by="a run with one host thread",
    kind=THREADS,
)
