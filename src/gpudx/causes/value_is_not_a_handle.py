"""A value that is not a memory object was given as one.

The host code took the value from the wrong place: another field, another structure behind the same pointer, a variable
that holds a size. The driver believes it and reads memory that has nothing to do with the object.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="value-is-not-a-handle",
    title="A value that is not a memory object was given as one",
    refutes_if=(
        "The value would be the handle of a live memory object at the time of the call, or the crash address "
        "would have no relation to it."
    ),
    fix=(
        (
            "Look at the expression in the named line: print what it points to and compare it with the handle "
            "that the buffer was created with."
        ),
        (
            "If one pointer can lead to two structures, decide by what was stored there, not by the type of the "
            "data it describes."
        ),
    ),
    predicts=(("recorded", "the call is refused, crashes, or a launch that uses the argument does"),),
    kind=FIXED,
)
