"""The address lies in live memory that the launch was not given, or that the argument it went through does not own."""

from __future__ import annotations

from gpudx.access.question import Question, Reason


def explain(question: Question) -> Reason | None:
    address = question.address
    if address is None:
        return None
    row = question.facts.memory.one(address, question.position)
    if row < 0 or any(p.object == row for p in question.pointers):
        return None
    label = question.memory(row)
    return Reason("out-of-bounds-access", f"it landed in {label}, which the launch was not passed", object=row)
