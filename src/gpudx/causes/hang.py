"""The program waited for work that did not finish."""

from gpudx.causes import Cause

CAUSE = Cause(
    id="hang",
    title="The program waited for work that did not finish",
    refutes_if="The call in flight would have returned on its own with more time.",
    fix=(
        (
            "Look at the launch that did not end, or was queued last before the wait: does its loop end for these "
            "arguments, do all work-items reach its barriers?"
        ),
        "Run again with a larger --timeout to tell slow from stuck.",
        "With CUDA, run again with --dump and --timeout to see which kernel is on the device, and at which line.",
    ),
    predicts=(("recorded", "a wait is in flight at the timeout"),),
    settled_by="a run with ten times the time",
)
