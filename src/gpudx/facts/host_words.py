"""Addresses of the host's memory in structures that a launch was passed by value.

A kernel need not use every member of a structure, and a word that looks like an address need not be one. What the kernel's code does not
load as an address, where that is at hand, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.facts import Facts
from gpudx.facts.kernel_code import loads_of

POINTER = 8
KINDS = ("heap", "stack")


@dataclass(frozen=True)
class HostWord:
    """A word of a structure: the argument, the byte of it, and what it holds."""

    argument: int
    byte: int
    value: int


def host_words(facts: Facts, launch: int) -> list[HostWord]:
    """Words of structures that are addresses of the heap or a stack, and in no memory that was recorded."""
    position, found = int(facts.launches.position[launch]), []
    for value in facts.launches.values(launch):
        data = bytes(value["bytes"])
        for at in range(0, len(data) - POINTER + 1 if len(data) > POINTER else 0, POINTER):
            word = int.from_bytes(data[at : at + POINTER], "little")
            if facts.symbols.kind(word) in KINDS and facts.memory.ends_at(word, position) < 0 and facts.memory.one(word, position) < 0:
                found.append(HostWord(int(value["index"]), at, word))
    code = loads_of(facts, int(facts.launches.kernel_row[launch])) if found else None
    return [one for one in found if code is None or code.may_be_address(one.argument, one.byte)]
