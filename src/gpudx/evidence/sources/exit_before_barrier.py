"""Some threads of a group leave the kernel before a barrier that is for all of them.

    if (get_global_id(0) >= n) return;           // wrong: the last group has threads that never reach it
    barrier(CLK_LOCAL_MEM_FENCE);

    bool inside = get_global_id(0) < n;          // right: all reach it, and only those inside work
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside) ...

In OpenCL C the result is undefined (specification of OpenCL C, "Synchronization Functions"): it may hang. CUDA devices since Volta
wait only for threads that have not left (CUDA C++ Programming Guide, "Compute Capability 7.x"); there, the work of those that left,
such as their part of a tile in shared memory, is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._flow import Step, differs, divergent, steps
from gpudx.evidence.sources._functions import Function, Source, as_written, joined
from gpudx.evidence.sources._seen import Seen

RULE = "exit-before-barrier"


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    for function in source.functions:
        if function.is_kernel:
            yield from _of(source, function)


def _of(source: Source, function: Function) -> Iterator[Seen]:
    walked, names = steps(function), differs(function)
    for index, step in enumerate(walked):
        condition = divergent(step, names) if step.kind == "return" else None
        later = next((one for one in walked[index + 1 :] if one.kind == "barrier"), None)
        if condition is not None and later is not None:
            yield _seen(source, function, step, later, joined(condition))


def _seen(source: Source, function: Function, step: Step, later: Step, condition: str) -> Seen:
    return Seen(
        step.token.line,
        f"In {function.name}, threads with ({as_written(condition)[:80]}) return at {source.at(step.token.line)}, before the barrier at "
        f"{source.at(later.token.line)}, which all threads of a group have to reach.",
        function.name,
        ("let all threads reach the barrier, and put the condition around the work instead",),
        ("barrier-misuse",),
        (("condition", condition),),
    )
