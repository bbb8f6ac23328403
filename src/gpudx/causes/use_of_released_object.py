"""An object was used after the program released it.

The last reference was dropped, then the handle was used again. The driver may have freed or reused the object.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME

CAUSE = Cause(
    id="use-of-released-object",
    title="An object was used after the program released it",
    refutes_if="Another reference would have been held at the time of use (a retain, or a release that came later).",
    fix=("Release the object after its last use, or retain it for as long as the other user needs it.",),
    predicts=(("recorded", "the handle is used after its last release"),),
    kind=LIFETIME,
)
