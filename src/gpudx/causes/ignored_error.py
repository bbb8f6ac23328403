"""An earlier call failed and the program went on.

What failed later are followers: they worked with something that the first failing call did not deliver.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="ignored-error",
    title="An earlier call failed and the program went on",
    refutes_if="The later failures would also occur in a run in which this call succeeds.",
    fix=("Check the status of this call and stop there; then find out why it fails.",),
    predicts=(("recorded", "later calls fail on the same objects"),),
    settled_by="a run in which the first call succeeds",
)
