"""A buffer was read before anything wrote it.

Fresh device memory holds whatever was there before: zeros today, another tensor tomorrow.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNINITIALISED

CAUSE = Cause(
    id="read-before-write",
    title="A buffer was read before anything wrote it",
    refutes_if=(
        "A write, a fill, a map for writing or a launch that may write it would precede the read, or nothing that comes back would "
        "depend on what fresh memory holds."
    ),
    fix=("Fill the buffer after creating it (costs one pass over it), or write it before the first read.",),
    predicts=(
        ("recorded", "no write precedes the read"),
        ("poisoned", "what is read holds the pattern; a program that ends differently then depends on it"),
    ),
    settled_by=(
        "gpudx run --sanitize=initcheck, or gpudx run --poison=cb, 4b and zero: ends or results that differ between these depend on "
        "memory that nobody wrote"
    ),
    kind=UNINITIALISED,
)
