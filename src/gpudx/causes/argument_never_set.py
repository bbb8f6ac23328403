"""A kernel was launched with an argument that was never set."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="argument-never-set",
    title="A kernel was launched with an argument that was never set",
    refutes_if="A call that sets this argument on this kernel object would precede the launch.",
    fix=(
        (
            "Set every argument on this very kernel object before its first launch; arguments belong to the "
            "object, not to the name."
        ),
    ),
    predicts=(("recorded", "the launch is refused or works on garbage"),),
    kind=FIXED,
)
