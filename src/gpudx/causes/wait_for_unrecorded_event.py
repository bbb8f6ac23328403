"""A wait was made for an event that had not been recorded, so it waited for nothing.

An event that was never recorded counts as complete, and a record that comes after the wait does not count for it.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNORDERED

CAUSE = Cause(
    id="wait-for-unrecorded-event",
    title="A wait was made for an event that had not been recorded",
    refutes_if="The data would still be wrong with the event recorded before the wait.",
    fix=("Record the event, behind the work that is meant, before the call that waits for it is made.",),
    predicts=(("recorded", "no record of the event precedes the wait, and the work on both sides shares memory"),),
    kind=UNORDERED,
)
