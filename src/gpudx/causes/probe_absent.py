"""The mark that was asked about is not in what ran, so its silence says nothing."""

from gpudx.causes import Cause

CAUSE = Cause(
    id="probe-absent",
    title="The mark that was asked about is not in what ran",
    refutes_if="The text, symbol or line would be found in one of the files that were loaded.",
    fix=(
        "See which files ran with `gpudx show CASE identity`, and build or choose the one that has the mark.",
        "Check the spelling of the mark, and whether the compiler removed the code around it.",
    ),
    predicts=(("recorded", "the mark fires in no run"),),
    settled_by="a run of a program that has the mark",
)
