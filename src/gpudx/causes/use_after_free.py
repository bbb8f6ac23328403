"""Device memory was used after it was freed.

The address may still be mapped, or already belong to another allocation: the run can pass, give wrong numbers, or fault,
and which of these changes from run to run.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="use-after-free",
    title="Device memory was used after it was freed",
    refutes_if="The allocation would still be live, or have been made again, when the work that uses it ran.",
    fix=(
        "Free the memory after the last launch or copy that uses it has finished, in stream order (free) or after a sync (the host waits).",
    ),
    predicts=(("recorded", "an argument or a copy points into memory that an earlier call freed"),),
    kind=MEMORY,
)
