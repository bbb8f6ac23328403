"""An argument seems to hold another type than the kernel declares.

The size fits, so no driver can notice: an int's bits are read as a float, or the other way round.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="argument-type",
    title="An argument seems to hold another type than the kernel declares",
    refutes_if="The value would make sense as the declared type.",
    fix=("Convert the value to the declared type on the host before passing it.",),
    predicts=(("recorded", "results are wrong although no call fails"),),
    settled_by="a run in which the value is converted first",
    kind=FIXED,
)
