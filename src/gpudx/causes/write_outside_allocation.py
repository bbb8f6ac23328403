"""Something wrote right outside an allocation.

The bytes around a fenced allocation, or in the red zone behind one, held a pattern, and the pattern changed. In a run without
fences these bytes belong to another allocation, or to nobody: the same write gives wrong numbers elsewhere, or nothing at all,
until sizes change.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="write-outside-allocation",
    title="Something wrote right outside an allocation",
    refutes_if="The pattern would stay whole in a fenced run in which the named launch is left out.",
    fix=(
        "Compare the size of the allocation with what the launch's grid and size arguments can reach; correct the smaller.",
        "Where several launches are named: gpudx run --fence --serialise looks after each of them.",
    ),
    predicts=(("fenced", "with a smaller --fence-align, or the other edge, the same launch meets the fence"),),
    settled_by="gpudx run --fence --fence-align 16, where the same access may meet the fence, or gpudx run --sanitize",
    kind=MEMORY,
)
