"""A call failed and the program ended because of it."""

from gpudx.causes import Cause

CAUSE = Cause(
    id="failed-call",
    title="A call failed and the program ended because of it",
    refutes_if="The program would have ended the same way although this call succeeded.",
    fix=("Read the status in the words of the specification for this call, and check the values it was given.",),
    predicts=(("recorded", "the program ends right after the failing call"),),
)
