"""A barrier is in a branch that only some threads of a group take.

    if (threadIdx.x < 32) { tile[threadIdx.x] = x; __syncthreads(); }    // wrong: the others never reach it
    if (threadIdx.x < 32) tile[threadIdx.x] = x;                         // right
    __syncthreads();

CUDA C++ Programming Guide, "Synchronization Functions": allowed in conditional code only if the condition is the same for the whole
block. OpenCL C has the same rule. Loops are not checked: their conditions are often the same for all threads even if they name one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._flow import differs, divergent, steps
from gpudx.evidence.sources._functions import Source, as_written, joined
from gpudx.evidence.sources._seen import Seen

RULE = "barrier-in-branch"


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    for function in source.functions:
        names = differs(function) if function.on_device else set()
        for step in steps(function) if function.on_device else ():
            condition = divergent(step, names) if step.kind == "barrier" else None
            if condition is None or any(token.text == ";" for token in condition):
                continue
            text = joined(condition)
            yield Seen(
                step.token.line,
                f"In {function.name}, only threads with ({as_written(text)[:80]}) reach the barrier at "
                f"{source.at(step.token.line)}, which all threads of a group have to reach.",
                function.name,
                ("move the barrier out of the branch",),
                ("barrier-misuse",),
                (("condition", text),),
            )
