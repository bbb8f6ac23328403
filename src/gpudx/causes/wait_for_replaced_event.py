"""A queue waited for an event that had been recorded again elsewhere.

An event stands for the last place where it was recorded; a wait takes that place at the moment of the call.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNORDERED

CAUSE = Cause(
    id="wait-for-replaced-event",
    title="A queue waited for an event that had been recorded again elsewhere",
    refutes_if="The data would still be wrong with an event of its own for each of the two records.",
    fix=("Use an event of its own for each thing that is waited for, or wait before it is recorded again.",),
    predicts=(("recorded", "between the record that was meant and the wait, the event was recorded in another queue"),),
    kind=UNORDERED,
)
