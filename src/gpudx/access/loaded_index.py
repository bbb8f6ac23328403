"""The index was read from a buffer, and lies outside of the memory that it indexes: the data are wrong, or their check is missing.

What was read may be wrong because something wrote over it: where one allocation is divided into parts, the part in front of the indices
that the program's launches may write is named, because a write past its end changes them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.access.question import Pointer, Question, Reason
from gpudx.facts.ranges import WRITE
from gpudx.model import Evidence
from gpudx.text import plural

MOST_EARLIER = 64  # launches whose pointers are looked at
STEPS = (
    "Look at the values that the index is read from: find out whether they were written so, or overwritten later.",
    "If they are right, compare the index with the size of the memory that it is used on.",
)
OVERWRITTEN = "If they were overwritten: size {part} of {memory}, which lies before them, for everything that is written into it."


def explain(question: Question) -> Reason | None:
    origin = question.origin
    if origin is None or not origin.source or origin.index is None:
        return None
    pointer = next((p for p in question.pointers if p.object >= 0), None)
    if pointer is None or question.address is None or pointer.begin <= question.address < pointer.end:
        return None
    from_where = _index_memory(question)
    evidence = [Evidence(f"{pointer.name} is {question.memory(pointer.object)}")]
    steps: tuple[str, ...] = STEPS
    text = f"{origin.source}, and it leads outside of {pointer.name}"
    if from_where is not None:
        label = question.facts.objects.label(from_where.object)
        text += f"; it comes from {label}" + (f", byte {_offset(from_where):,} or later" if _offset(from_where) else "")
        evidence.append(Evidence(f"the index was read from {question.allocated(from_where.object)}, from byte {_offset(from_where):,} on"))
        evidence += _last_copy(question, from_where)
        found = _in_front(question, from_where)
        if found is not None:
            launch, part = found
            distance = plural(from_where.value - part.value, "byte")
            own = "this launch" if launch == question.launch else f"kernel {question.facts.launches.name(launch)} (launch {launch + 1})"
            evidence.append(
                Evidence(
                    f"{own} was passed {part.name} to the same {label}, at byte {_offset(part):,}: a write {distance} or more past "
                    "that address changes the index"
                )
            )
            steps = (STEPS[0], OVERWRITTEN.format(part=f"the part at byte {_offset(part):,}", memory=label), STEPS[1])
    return Reason("out-of-bounds-access", text, tuple(evidence), pointer.argument, pointer.object, steps=steps)


def _offset(pointer: Pointer) -> int:
    return pointer.value - pointer.begin


def _index_memory(question: Question) -> Pointer | None:
    """The pointer that the index was read through."""
    through = question.origin.read_through if question.origin else None
    every = question.pointers_of(question.launch)
    return next((p for p in every if (p.argument, p.word) == through and p.object >= 0), None)


def _last_copy(question: Question, pointer: Pointer) -> Iterator[Evidence]:
    """The last copy or fill before the launch that wrote where the indices begin."""
    facts, table = question.facts, question.facts.ranges.table
    address = np.uint64(pointer.value)
    wrote = (table["how"] == WRITE) & (table["position"] < question.position) & (table["height"] <= 1)
    wrote &= (table["address"] <= address) & (address - table["address"] < table["size"])
    rows = np.flatnonzero(wrote)
    rows = rows[facts.trace.column("status", table["position"][rows]) == 0]
    if len(rows):
        site = facts.sites.at(int(table["position"][rows[-1]]))
        line = f" at {site.source}" if site.source else ""
        yield Evidence(f"{site.call}{line} (call {site.number}) was the last copy or fill of these bytes", (site.number,))


def _in_front(question: Question, indices: Pointer) -> tuple[int, Pointer] | None:
    """The nearest part in front of the indices in their allocation that this launch or an earlier one may write, and that launch."""
    found: list[tuple[int, int, Pointer]] = []
    for launch in range(question.launch, max(-1, question.launch - MOST_EARLIER), -1):
        for one in question.pointers_of(launch):
            if one.object == indices.object and one.value < indices.value and not one.read_only:
                found.append((indices.value - one.value, question.launch - launch, one))
    if not found:
        return None
    _, ago, part = min(found, key=lambda one: one[:2])
    return question.launch - ago, part
