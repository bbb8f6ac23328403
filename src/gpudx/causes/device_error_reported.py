"""Work on the device failed, and a later call reported it.

The call that reports is innocent; which launch of the interval did it is not shown by the calls alone.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="device-error-reported",
    title="Work on the device failed, and a later call reported it",
    refutes_if="The reporting call would fail alone, without any work before it.",
    fix=("Look at the launches listed, the most suspicious first; `gpudx run --crumbs=all` marks every launch.",),
    predicts=(("recorded", "the launches of the interval ran, and a later call reports the fault"),),
)
