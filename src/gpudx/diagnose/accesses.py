"""An access of a launch in the words of a finding: what the launch was given, and the memory that was missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.misses import Miss
from gpudx.model import Access, Allocation, Evidence

CAUSES = {"null": "out-of-bounds-access", "past": "out-of-bounds-access", "before": "out-of-bounds-access",
          "wild": "out-of-bounds-access", "other": "out-of-bounds-access", "freed": "use-after-free"}  # fmt: skip


def cause_of_miss(miss: Miss | None) -> str:
    """The cause of an access that is not allowed, by the kind of miss."""
    return CAUSES.get(miss.kind, "out-of-bounds-access") if miss else "out-of-bounds-access"


def argument_value(facts: Facts, launch: int, miss: Miss | None) -> int | None:
    """The pointer that the launch was given for the memory that was missed."""
    if miss is None or miss.argument is None:
        return None
    found = [a["bytes"] for a in facts.launches.values(launch) if a["index"] == miss.argument and a["size"] == 8]
    return int.from_bytes(found[0], "little") if found else None


def missed_memory(facts: Facts, miss: Miss | None) -> Allocation | None:
    """The memory that was missed."""
    return allocation_of(facts, miss.object, "freed" if miss.kind == "freed" else "live") if miss else None


def missed_by(facts: Facts, access: Access | None, missed: tuple[Miss, int] | None) -> Access | None:
    """The access at the address that tells what was missed, with its offset from there."""
    if access is None or missed is None:
        return access
    miss, address = missed
    offset = facts.memory.offset(miss.object, address) if miss.object >= 0 else None
    return replace(access, address=address, offset=offset)


def given(facts: Facts, launch: int, number: int, *, only: int | None = None, but: int | None = None) -> Iterator[Evidence]:
    """Every argument of the launch made by call `number`, or one, or all but one."""
    for argument in facts.launches.values(launch):
        if (only is not None and argument["index"] != only) or argument["index"] == but:
            continue
        data: bytes = argument["bytes"]
        row = int(argument["object"])
        name = facts.objects.label(row) if row >= 0 else ""
        size = f", {int(facts.objects.table['size'][row]):,} bytes" if row >= 0 else ""
        shown = f"{int.from_bytes(data, 'little'):#x}" if len(data) <= 8 else f"{len(data)} bytes"
        yield Evidence(f"argument {argument['index']} was {shown}{f' ({name}{size})' if name else ''}", (number,))
