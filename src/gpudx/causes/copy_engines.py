"""How copies by the device's copy engines are ordered with other work decides.

Copy engines work beside kernels. A copy that nothing orders with the work that makes or uses its bytes, or an engine that does not
keep the order it was given, fails only while copies are made by the engines. Without them the failure is hidden, not mended.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import COPIES

CAUSE = Cause(
    id="copy-engines",
    title="The order of copies by the copy engines decides",
    refutes_if="The failure would stay as frequent when kernels make the copies.",
    fix=(
        "Look for a copy without an event or wait between it and the work on the same memory, and for host memory that is "
        "changed or freed before its copy has ended; order these two.",
        "Until then, copies without the copy engines hide it, at the price of slower copies.",
    ),
    predicts=(("recorded", "it fails in some runs, or results differ from run to run"),),
    settled_by="the copy, and a run in which only this copy is waited for",
    kind=COPIES,
)
