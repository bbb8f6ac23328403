"""Null pointers that a launch was passed, as arguments and as fields of structures that it was passed by value."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.facts import Facts
from gpudx.facts.kernel_code import loads_of

POINTER = 8


@dataclass(frozen=True)
class NullWord:
    """A null pointer: the argument, and the byte of it where the pointer is a field. `name` is how sentences call it."""

    argument: int
    byte: int
    name: str


def null_words(facts: Facts, launch: int) -> list[NullWord]:
    """Arguments that are 0 and declared as pointers (or not declared at all), and words of structures that are 0. Whether such a word
    is a pointer is not known: two numbers that are 0 look alike. What the kernel's code does not load as an address is left out."""
    found = []
    for value in facts.launches.values(launch):
        index, data, declared = int(value["index"]), bytes(value["bytes"]), value["declared"]
        pointer = declared is None or not declared.type or "*" in declared.type or declared.is_memory
        if len(data) == POINTER and pointer and not any(data):
            name = f" ({declared.name})" if declared and declared.name else ""
            found.append(NullWord(index, 0, f"argument {index}{name}"))
        elif len(data) > POINTER and len(data) % POINTER == 0:
            holes = [at for at in range(0, len(data), POINTER) if not any(data[at : at + POINTER])]
            found += [NullWord(index, at, f"the pointer at byte {at} of argument {index}") for at in holes]
    code = loads_of(facts, int(facts.launches.kernel_row[launch])) if found else None
    return [one for one in found if code is None or code.may_be_address(one.argument, one.byte)]
