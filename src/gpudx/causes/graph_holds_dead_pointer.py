"""A graph was launched whose nodes hold freed memory.

A graph keeps the addresses it was captured with; freeing the memory does not touch it.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import MEMORY

CAUSE = Cause(
    id="graph-holds-dead-pointer",
    title="A graph was launched whose nodes hold freed memory",
    refutes_if="The nodes would have been updated, or the memory freed after the last launch of the graph.",
    fix=("Keep the memory for as long as the graph is launched, or update the nodes when it moves.",),
    predicts=(("recorded", "a node's address lies in memory that was freed before the graph's launch"),),
    kind=MEMORY,
)
