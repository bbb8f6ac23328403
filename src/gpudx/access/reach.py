"""Which address failed is not known, but the kernel's code shows the pointer and the index: over the launch it leaves the buffer."""

from __future__ import annotations

import numpy as np

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence


def explain(question: Question) -> Reason | None:
    origin = question.origin
    if question.address is not None or origin is None or origin.reach is None:
        return None
    pointer = next((p for p in question.usable if p.object >= 0), None)
    if pointer is None or _freed(question, pointer.object):
        return None  # memory that was freed fails wherever it is accessed
    lowest, highest = origin.reach
    held = (pointer.end - pointer.value) // origin.unit
    if lowest >= 0 and highest < held:
        return None
    reached = highest if highest >= held else lowest
    text = f"the index of {pointer.name} can reach {reached:,} in this launch, and there are {held:,} elements of {origin.unit} bytes"
    evidence = (Evidence(f"{pointer.name} is {question.allocated(pointer.object)}"),)
    return Reason("out-of-bounds-access", text, evidence, pointer.argument, pointer.object)


def _freed(question: Question, obj: int) -> bool:
    """Was it ever freed? A call that failed, as all do after a device error, freed nothing."""
    died = int(question.facts.objects.table["died"][obj])
    return 0 <= died < len(question.facts.trace) and int(question.facts.trace.column("status", np.array([died]))[0]) == 0
