"""A kernel divides an integer by zero.

OpenCL leaves the result undefined: CPU devices stop the program with SIGFPE, GPUs give some number and go on.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import IN_KERNEL

CAUSE = Cause(
    id="division-by-zero",
    title="A kernel divides an integer by zero",
    refutes_if="The divisor at this line would never be zero.",
    fix=("Test the divisor before the division, or pass the size or stride that it should have been.",),
    predicts=(("recorded", "results are wrong on some devices, and the program dies of SIGFPE on others"),),
    kind=IN_KERNEL,
)
