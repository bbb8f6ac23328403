"""The length of a row was passed in bytes, and the kernel counts elements: the number is an element's size times a length with which all
rows of the launch fit the buffer, and the access is in a row that lies so many times as far."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from gpudx.access.question import Number, Pointer, Question, Reason
from gpudx.model import Evidence

ELEMENTS = (4, 8, 2, 16)
LEAST = 16  # elements of a row, and rows: smaller numbers fit by chance
PADDING = 2 << 20  # bytes: pools round sizes up to pages of the device


def explain(question: Question) -> Reason | None:
    """None as well where more than one number of the launch may be meant."""
    if question.address is None:
        return None
    found = {(p.object, stride.argument): (p, stride, element, rows) for p, stride, element, rows in _fitting(question)}
    return _reason(question, *next(iter(found.values()))) if len(found) == 1 else None


def _fitting(question: Question) -> Iterator[tuple[Pointer, Number, int, Number]]:
    for pointer in question.usable:
        if pointer.object < 0 or question.address is None or question.address < pointer.end:
            continue
        strides = [n for n in question.numbers if n.argument is not None]
        for stride, element in product(strides, [pointer.element] if pointer.element else ELEMENTS):
            length, rest = divmod(stride.value, element)
            if element == 1 or rest or length < LEAST or _is_size(question, stride):
                continue
            fitting = [n for n in question.numbers if _fits(question, pointer, stride, element, n)]
            if rows := next((n for n in fitting if _has_columns(question, length, n)), None):
                yield pointer, stride, element, rows


def _has_columns(question: Question, length: int, rows: Number) -> bool:
    """Is the launch passed how much of such a row it uses? Most of it, or the two have nothing to do with each other."""
    return any(n != rows and n.argument is not None and length < 2 * n.value <= 2 * length for n in question.numbers)


def _is_size(question: Question, stride: Number) -> bool:
    """Does memory of the launch have as many elements, or such rows? Then the number counts elements."""
    counts = {n.value for n in question.numbers if n != stride} | {1}
    rooms = {(p.end - p.value) // e for p in question.pointers if p.object >= 0 for e in ([p.element] if p.element else ELEMENTS)}
    return any(stride.value * count in rooms for count in counts)


def _fits(question: Question, pointer: Pointer, stride: Number, element: int, rows: Number) -> bool:
    """Do the rows fit in elements, and most of the memory, and is the access in one of them, as far as the number says?"""
    assert question.address is not None
    length, held = stride.value // element, (pointer.end - pointer.value) // element
    if rows == stride or rows.value < LEAST or rows.value * length > held or (2 * rows.value * length < held):
        return False
    if held % length and held - rows.value * length >= PADDING // element:
        return False
    reached = (question.address - pointer.value) // element
    after = reached % stride.value  # of the beginning of a row
    in_row = after < length or after + question.within // element >= stride.value
    return in_row and reached < rows.value * stride.value


def _reason(question: Question, pointer: Pointer, stride: Number, element: int, rows: Number) -> Reason:
    length = stride.value // element
    memory = question.memory(pointer.object)
    text = (
        f"{stride.name} = {stride.value:,} is {length:,} x {element}, the length of a row of {pointer.name} in bytes, and the kernel counts"
        f" elements: with {length:,}, {rows.value:,} rows ({rows.name}) stay inside {memory}"
    )
    evidence = (Evidence(f"{rows.value:,} rows of {length:,} elements of {element} bytes are {rows.value * length * element:,} bytes"),)
    steps = (f"Pass {stride.name} in elements ({length:,}): {stride.value:,} is the length of a row in bytes.",)
    return Reason("out-of-bounds-access", text, evidence, pointer.argument, pointer.object, steps=steps)
