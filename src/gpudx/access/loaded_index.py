"""The index was read from a buffer, and lies outside of the memory that it indexes: the data are wrong, or their check is missing."""

from __future__ import annotations

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence


def explain(question: Question) -> Reason | None:
    origin = question.origin
    if origin is None or not origin.source or origin.index is None:
        return None
    pointer = next((p for p in question.pointers if p.object >= 0), None)
    if pointer is None or question.address is None or pointer.begin <= question.address < pointer.end:
        return None
    evidence = (Evidence(f"{pointer.name} is {question.memory(pointer.object)}"),)
    text = f"{origin.source}, which is outside of {pointer.name}"
    return Reason("out-of-bounds-access", text, evidence, pointer.argument, pointer.object)
