"""The launch was given a pointer to no allocation at all: never allocated, freed before recording, or garbage."""

from __future__ import annotations

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence

NEAR = 1 << 32  # bytes that an index may lead from such a pointer


def explain(question: Question) -> Reason | None:
    address = question.address
    if address is None or question.facts.trace.gaps:
        return None
    lost = []
    for value in question.facts.launches.values(question.launch):
        declared, data = value["declared"], bytes(value["bytes"])
        pointer = declared is not None and ("*" in declared.type or declared.is_memory)
        word = int.from_bytes(data, "little") if len(data) == 8 else 0
        if not question.went_through(int(value["index"]), 0):
            continue
        if pointer and word and word <= address < word + NEAR and question.facts.memory.one(word, question.position) < 0:
            lost.append((word, int(value["index"]), declared.name))
    if not lost:
        return None
    word, index, name = max(lost)
    called = f"argument {index}{f' ({name})' if name else ''}"
    if any(p.begin <= address < p.end or abs(address - p.end) < address - word for p in question.pointers if p.object >= 0):
        return None  # memory that the launch was given is nearer
    text = f"{called} is {word:#x}, which is in no allocation of the program"
    return Reason("out-of-bounds-access", text, (Evidence(f"{called} was {word:#x}, in no recorded allocation"),), index)
