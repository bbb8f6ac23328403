"""The address is small: a null pointer, or a small number used as one, plus an offset."""

from __future__ import annotations

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence

FIRST_PAGES = 1 << 16
MOST_INDEX = 1 << 28  # bytes that an index adds to a null pointer; device memory never lies this low


def explain(question: Question) -> Reason | None:
    address = question.address
    if address is None or address >= MOST_INDEX:
        return None
    nulls = [(index, name) for index, name in _null_arguments(question)]
    if address >= FIRST_PAGES and not nulls:
        return None
    if question.origin is not None and question.origin.loaded and address < FIRST_PAGES:
        text = f"it went through {question.origin.pointer}, which was null or a small number"
        return Reason("null-pointer", text, (), question.origin.argument)
    if len(nulls) == 1:
        index, name = nulls[0]
        offset = f" plus {address:,} bytes" if address else ""
        text = f"it went through a null pointer, {name},{offset}"
        return Reason("null-pointer", text.rstrip(","), (Evidence(f"{name} was 0"),), index)
    where = f"{address:#x}" if address else "0"
    several = (
        "; several arguments are null" if nulls else "; no argument is null, so the pointer was loaded or computed"
    )
    return Reason("null-pointer", f"it went through a null or near-null pointer ({where}){several}")


def _null_arguments(question: Question) -> list[tuple[int, str]]:
    """Arguments that are declared as pointers and are 0, and 8-byte words of structures that are 0 (each its own)."""
    found = []
    for value in question.facts.launches.values(question.launch):
        index, data, declared = int(value["index"]), bytes(value["bytes"]), value["declared"]
        pointer = declared is not None and ("*" in declared.type or declared.is_memory)
        if len(data) == 8 and not any(data) and (pointer or declared is None or not declared.type):
            name = f" ({declared.name})" if declared and declared.name else ""
            found += [(index, f"argument {index}{name}")] if question.went_through(index, 0) else []
        elif len(data) > 8 and len(data) % 8 == 0:
            holes = [at for at in range(0, len(data), 8) if not any(data[at : at + 8]) and question.went_through(index, at)]
            found += [(index, f"the pointer at byte {holes[0]} of argument {index}")] if len(holes) == 1 else []
    return found
