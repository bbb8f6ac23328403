"""The launch has more threads, or each handles more elements, than the buffer holds: the bounds check is missing or wrong."""

from __future__ import annotations

from gpudx.access.question import Pointer, Question, Reason
from gpudx.model import Evidence
from gpudx.text import plural


def explain(question: Question) -> Reason | None:
    pointer = _nearest(question)
    if pointer is None or question.address is None:
        return None
    element = pointer.element or question.width or 1
    held, whose = pointer.size // element, Evidence(f"{pointer.name} is {question.allocated(pointer.object)}")
    where = _where(question.address, pointer, element)
    threads = question.threads
    if (
        question.address >= pointer.end
        and held < threads <= 64 * max(held, 1)
        and question.address - pointer.end < threads * element
    ):
        text = f"it went {where}{question.who}: the launch has {threads:,} threads and the buffer {held:,} elements"
        evidence = (Evidence(f"{threads:,} threads, {held:,} elements of {element} bytes"), whose)
        return Reason("out-of-bounds-access", text, evidence, pointer.argument, pointer.object)
    return Reason("out-of-bounds-access", f"it went {where}", (whose,), pointer.argument, pointer.object)


def _nearest(question: Question) -> Pointer | None:
    """The memory that was missed; None where two are about as near, or the address is inside one of them."""
    address = question.address
    if address is None:
        return None
    known = [p for p in question.usable if p.object >= 0 and p.size]
    if any(p.begin <= address < p.end for p in known):
        return None
    far = sorted(
        ((address - p.end if address >= p.end else p.begin - address, p) for p in known), key=lambda pair: pair[0]
    )
    if not far or far[0][0] > 1 << 40:
        return None
    rival = next((p for distance, p in far if p.object != far[0][1].object and distance < 2 * far[0][0]), None)
    return None if rival else far[0][1]


def _where(address: int, pointer: Pointer, element: int) -> str:
    past = address >= pointer.end
    distance = address - pointer.end if past else pointer.begin - address
    elements = f" ({plural(distance // element, 'element')})" if element > 1 and distance >= element else ""
    side = "past the end" if past else "before the start"
    return f"{plural(distance, 'byte') + elements if distance else 'right'} {side} of {pointer.name}"
