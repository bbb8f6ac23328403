"""A kernel was launched with a null pointer.

The fault shows up at a later call, as an illegal address near zero.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="null-pointer",
    title="A kernel was launched with a null pointer",
    refutes_if="The kernel would test the pointer, or the same launch would end well with null there.",
    fix=("Allocate the memory before the launch, or let the kernel test the pointer.",),
    predicts=(("recorded", "a pointer parameter is null"),),
    kind=FIXED,
)
