"""A copy or fill reaches past the end of its memory.

The driver need not notice: what lies behind may be mapped, and belong to something else.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="copy-range",
    title="A copy or fill reaches past the end of its memory",
    refutes_if="The memory would be at least as large as the stretch that the call was given.",
    fix=("Compute the size of the copy and of the allocation from the same number.",),
    predicts=(("recorded", "the stretch ends behind the allocation"),),
    kind=MEMORY,
)
