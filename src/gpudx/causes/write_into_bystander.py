"""A launch wrote into memory that it was not given.

Both pieces of memory are the program's, so nothing faults: the launch runs past the end of what it was given, or indexes with a
wrong number, and another allocation, or another part of the same one, holds wrong values from then on. What shows is a wrong
result somewhere else, later, which changes when sizes or the order of allocations change.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="write-into-bystander",
    title="A launch wrote into memory that it was not given",
    refutes_if="The bytes would stay as they were in a run in which the named launch is left out.",
    fix=(
        "Compare the size of the launch's own memory with what its grid and size arguments can reach; correct the smaller.",
        "Where several launches are named: gpudx run --watch --serialise looks before and after each of them.",
    ),
    predicts=(("watched", "the same bytes change again, and a look after each launch names the launch"),),
    settled_by="gpudx run --watch --serialise, which looks right before and right after each launch",
)
