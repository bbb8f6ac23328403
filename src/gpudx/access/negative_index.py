"""An unsigned 32-bit index went below zero: -1 became 4,294,967,295.

The access then lands almost 2^32 elements past the start of the buffer that was meant. It is said of the buffer for which the index is
a small negative number, where it would be a much larger one for every other buffer of the launch.
"""

from __future__ import annotations

from gpudx.access.question import Pointer, Question, Reason
from gpudx.model import Evidence

WRAP = 1 << 32
MOST_BELOW = 1 << 16  # elements: what kernels subtract from an index is a halo, a stride or a tile
CLEARER = 16  # times nearer to zero than for any other buffer


def explain(question: Question) -> Reason | None:
    if question.address is None:
        return None
    found = [(below, pointer) for pointer in question.usable if pointer.object >= 0 and (below := _below(question, pointer))]
    found.sort(key=lambda one: one[0])
    if not found or any(below < CLEARER * found[0][0] and one.object != found[0][1].object for below, one in found[1:]):
        return None
    below, pointer = found[0]
    said = f"an unsigned 32-bit index of {pointer.name} went below zero: -{below:,} became {WRAP - below:,}"
    evidence = (Evidence(f"{pointer.name} is {question.memory(pointer.object)}"),)
    return Reason("out-of-bounds-access", said, evidence, pointer.argument, pointer.object)


def _below(question: Question, pointer: Pointer) -> int:
    """How far below zero the index was, if it wrapped; else 0."""
    element = pointer.element or question.width
    if not element or question.address is None or (question.address - pointer.value) % element:
        return 0
    below = WRAP - (question.address - pointer.value) // element
    return below if 0 < below <= MOST_BELOW else 0
