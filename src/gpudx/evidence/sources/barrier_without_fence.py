"""A barrier of OpenCL without a fence: threads wait for each other, and need not see what the others wrote.

    barrier(0);                        // wrong
    barrier(CLK_LOCAL_MEM_FENCE);      // right, for local memory; CLK_GLOBAL_MEM_FENCE for global memory

Specification of OpenCL C, "Synchronization Functions": the flags say which memory is made consistent. Many devices make all of it so
anyway; others do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._functions import Source, calls
from gpudx.evidence.sources._seen import Seen

RULE = "barrier-without-fence"


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    if source.language != "opencl":
        return
    for function in source.functions:
        for token, given in calls(function.body, "barrier", "work_group_barrier"):
            if given and source.number(given[0]) == 0:
                yield Seen(
                    token.line,
                    f"{token.text}(0) at {source.at(token.line)} in {function.name} orders no memory: what other threads wrote "
                    "before it may not be visible after it.",
                    function.name,
                    ("write CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE, or both",),
                    ("race-in-kernel",),
                    (("call", token.text),),
                )
