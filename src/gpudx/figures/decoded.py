"""The guilty call with all that it was given: geometry, and each argument as a number or as the memory it names."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.kernels import ArgInfo
from gpudx.facts.queues import Queues
from gpudx.facts.tables import values
from gpudx.figures.accused import Accused
from gpudx.model.drawing import Decoded

# How values of a scalar type lie in memory.
FORMS = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
    "half": "e", "float": "f", "double": "d", "bool": "?",
}  # fmt: skip
NO_EVENT = ("event", "0")  # none was asked for
MOST_BYTES = 64  # of an argument that is no number
SHAPES = ("global_", "local_", "grid_", "block_")
AXES = tuple(f"{shape}{axis}" for shape in SHAPES for axis in "xyz")


def of(facts: Facts, accused: Accused) -> Decoded | None:
    """The guilty call of this process; None if it is not in the record."""
    if accused.guilty is None or not 0 < accused.guilty <= len(facts.trace):
        return None
    position = accused.guilty - 1
    row = facts.launches.at_position(position)
    thread = int(facts.trace.column("tid", np.array([position]))[0])
    rest = [_plain(facts, position, *one) for one in values(facts, position) if one[0] not in AXES and one != NO_EVENT]
    if row is None:
        return Decoded((("thread", str(thread)), *rest))
    rows = [("thread", str(thread)), *_shape(facts, row), *((n, v) for n, v in rest if n != "kernel")]
    given = (_argument(facts, position, row, one) for one in facts.launches.values(row))
    return Decoded((("kernel", facts.launches.name(row)), *rows), tuple(given))


def _plain(facts: Facts, position: int, name: str, value: str) -> tuple[str, str]:
    """Small numbers of queues mean default queues."""
    if name == "queue" and value.isdigit():
        place = np.array([position], np.int64)
        return name, Queues(facts.trace, facts.objects, np.array([int(value)], np.uint64), place).label(0)
    return name.replace("_", " "), value


def _shape(facts: Facts, row: int) -> list[tuple[str, str]]:
    items, group = facts.launches.geometry(row)
    grid, _ = facts.launches.grid(row)
    told = [("work-items", items), ("per group", group), ("groups", grid)]
    return [(name, " x ".join(f"{n:,}" for n in sizes if n)) for name, sizes in told if any(sizes)]


def _argument(facts: Facts, position: int, row: int, given: dict[str, Any]) -> tuple[str, ...]:
    declared: ArgInfo | None = given["declared"]
    name = f"{given['index']}" + (f" ({declared.name})" if declared and declared.name else "")
    value = _value(facts, given, declared)
    return name, declared.type if declared else "", str(given["size"]), value, _memory(facts, position, row, given)


def _value(facts: Facts, given: dict[str, Any], declared: ArgInfo | None) -> str:
    data: bytes = given["bytes"]
    if given["flags"] & facts.trace.schema.argument_flags["local"]:
        return f"{given['size']:,} bytes of local memory"
    form = FORMS.get((declared.scalar if declared else None) or "")
    memory = given["object"] >= 0 or (declared is not None and declared.is_memory)
    if form and not memory and data and len(data) % struct.calcsize(form) == 0:
        numbers = struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data)
        return ", ".join(f"{number:,}" if isinstance(number, int) else f"{number:g}" for number in numbers)
    if len(data) <= 8:
        return f"{int.from_bytes(data, 'little'):#x}"
    return data[:MOST_BYTES].hex(" ", 4) + (" ..." if len(data) > MOST_BYTES else "")


def _memory(facts: Facts, position: int, row: int, given: dict[str, Any]) -> str:
    """ "buffer #3, 1,024 bytes, live", with the offset of a pointer into its middle."""
    at, value = given["object"], int.from_bytes(given["bytes"][:8], "little")
    addressed = bool(facts.launches.by_address[row])
    if at < 0 and addressed and given["size"] == 8 and value:
        at = facts.memory.one(value, position)
    if at < 0:
        return ""
    offset = facts.memory.offset(at, value) if addressed else 0
    size = int(facts.objects.table["size"][at])
    inside = f", {offset:,} bytes from its start" if offset else ""
    return f"{facts.objects.label(at)}, {size:,} bytes, {facts.objects.state(at, position)}{inside}"
