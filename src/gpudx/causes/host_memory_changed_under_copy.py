"""Host memory was given up or written to while a copy might still be working on it.

A copy that the host does not wait for reads or writes the host's memory later. Until it is done the memory must stay.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME

CAUSE = Cause(
    id="host-memory-changed-under-copy",
    title="Host memory was given up or written to while a copy might still be working on it",
    refutes_if="The data would still be wrong with a wait right after the copy.",
    fix=(
        "Wait for the copy before its host memory goes or is used again, or make the copy block.",
        "Give each copy host memory of its own until it is done.",
    ),
    predicts=(("recorded", "the memory goes, or is written, before any wait covers the copy"),),
    kind=LIFETIME,
)
