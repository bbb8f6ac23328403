"""The rows of a pitched copy are longer than its pitch."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="copy-pitch",
    title="The rows of a pitched copy are longer than its pitch",
    refutes_if="The width, and what stands before it in the row, would fit into the pitch.",
    fix=(
        "Give widths and pitches in bytes: the pitch that the allocation gave for the device, the row's bytes for the host.",
    ),
    predicts=(("recorded", "the driver refuses the copy, or the rows overwrite each other"),),
    kind=FIXED,
)
