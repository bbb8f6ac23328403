"""An assertion in a kernel did not hold."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="device-assertion",
    title="An assertion in a kernel did not hold",
    refutes_if="The driver would have printed no assertion, or one of another kernel.",
    fix=(
        "Look at the named line: compare the condition with the arguments of the launch and the contents of its buffers.",
        "In PyTorch an index outside of a table is the usual reason: check indices against the table's size on the host.",
    ),
    predicts=(("recorded", "the driver prints the assertion and the next wait fails"),),
    settled_by="the values that the condition compares, printed before the launch",
    kind=FIXED,
)
