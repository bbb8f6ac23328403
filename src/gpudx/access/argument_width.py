"""A 64-bit argument whose upper half is another argument's value: the host passed the address of a 4-byte variable.

cuLaunchKernel and cudaLaunchKernel get the address of each argument, and copy as many bytes as the kernel's parameter has. Where the
host's variable has 4 bytes and the parameter 8, the upper half is whatever lies behind it: the next field of a structure, the next local
variable. It is said only where that shows: the upper half is the lower half of another argument, and the lower half alone would fit; or
the lower half alone is exactly the number of elements of the memory that was missed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.access.question import Pointer, Question, Reason
from gpudx.model import Evidence

HALF = 1 << 32
ELEMENTS = (4, 2, 8, 1, 16)
LEAST = 64  # elements: smaller numbers agree by chance
WIDE = ("long", "size_t", "int64", "uint64", "ptrdiff_t")


def explain(question: Question) -> Reason | None:
    address = question.address
    if address is not None and any(p.begin <= address < p.end for p in question.pointers if p.object >= 0):
        return None
    wide = _wide_numbers(question)
    largest = max((p.size for p in question.pointers if p.object >= 0), default=0)
    found = []
    for index, value in wide.items():
        low, high = value % HALF, value // HALF
        neighbour = next((other for other, number in wide.items() if other != index and number % HALF == high), None)
        if high and low and neighbour is not None and low <= largest < value:
            found.append((index, low, high, neighbour))
    if not found:
        return _by_room(question, wide)
    index, low, high, neighbour = found[0]
    text = (
        f"argument {index} is {wide[index]:,} = {high:,} x 2^32 + {low:,}. Its upper half is the value of argument {neighbour}: the host "
        f"passed the address of a 4-byte variable for an 8-byte parameter"
    )
    evidence = tuple(
        Evidence(f"argument {i} is {wide[i]:#x}: the lower half is {low:,}, the upper half {high:,} is that of argument {other}")
        for i, low, high, other in found
    )
    return Reason("argument-size", text, evidence, index, steps=_steps(index))


def _steps(index: int) -> tuple[str, ...]:
    return (f"Pass the address of a variable of 8 bytes (int64_t, size_t) for argument {index}.",)


def _by_room(question: Question, wide: dict[int, int]) -> Reason | None:
    """None where several arguments fit."""
    found = [(index, *fitting) for index, value in wide.items() for fitting in _counted(question, value)]
    if len(found) != 1:
        return None
    index, pointer, element = found[0]
    value = wide[index]
    low, high = value % HALF, value // HALF
    text = (
        f"argument {index} is {value:,} = {high:,} x 2^32 + {low:,}. Its lower half is the number of elements of {pointer.name}: the host "
        f"passed the address of a 4-byte variable for an 8-byte parameter, and what lies behind it became the upper half"
    )
    evidence = (
        Evidence(f"argument {index} is {value:#x}: the lower half is {low:,}, the upper half {high:,}"),
        Evidence(f"{low:,} elements of {element} bytes are the whole of {question.allocated(pointer.object)}"),
    )
    return Reason("argument-size", text, evidence, index, pointer.object, steps=_steps(index))


def _counted(question: Question, value: int) -> Iterator[tuple[Pointer, int]]:
    """The memory that was missed, where the lower half of a number is its count of elements and the number as a whole is beyond it."""
    low, missed = value % HALF, question.nearest(question.usable)
    if value < HALF or low < LEAST or missed is None:
        return
    elements = [missed.element] if missed.element else ELEMENTS
    yield from ((missed, one) for one in elements if low * one == missed.size)


def _wide_numbers(question: Question) -> dict[int, int]:
    """Arguments of 8 bytes that are whole numbers, or may be where no type is known, by index."""
    found = {}
    for value in question.facts.launches.values(question.launch):
        data, declared = bytes(value["bytes"]), value["declared"]
        known = (declared.scalar or declared.type) if declared else ""
        pointer = int(value["object"]) >= 0 or (declared is not None and ("*" in declared.type or declared.is_memory))
        number = int.from_bytes(data, "little")
        typed = not known or any(word in known for word in WIDE)
        if len(data) == 8 and typed and not pointer and question.facts.memory.one(number, question.position) < 0:
            found[int(value["index"])] = number
    return found
