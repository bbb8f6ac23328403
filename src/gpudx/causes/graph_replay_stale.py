"""A graph works on memory that belongs to another allocation by now.

A graph keeps the addresses it was captured with; freeing the memory and giving it out again does not touch it.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME

CAUSE = Cause(
    id="graph-replay-stale",
    title="A graph works on memory that belongs to another allocation by now",
    refutes_if="The nodes would have been updated, or the memory kept until after the last launch of the graph.",
    fix=("Keep the memory for as long as the graph is launched, or update the nodes when it moves.",),
    predicts=(("recorded", "a node's address lies in another allocation at the launch than when the graph was made"),),
    kind=LIFETIME,
)
