"""A 32-bit index wrapped: the address lies where the index would be after losing a multiple of 2^32.

An index that passed 2^31 as a signed number comes out 2^32 too small, so the access lands about 2^32 elements before the place that
was meant, which is before the start of the buffer by up to 2^31 elements. It is said only where adding 2^32 elements back gives a
place that the launch's own numbers reach, or one inside a buffer with more elements than such an index can count.
"""

from __future__ import annotations

from itertools import combinations
from math import prod

from gpudx.access.question import Number, Pointer, Question, Reason
from gpudx.model import Evidence

WRAP, HALF = 1 << 32, 1 << 31
ELEMENTS = (1, 2, 4, 8, 16)
MOST = 1 << 44
SLACK = 1.25  # an index may pass the product, or the end of the buffer, by a column or an offset


def explain(question: Question) -> Reason | None:
    if question.address is None:
        return None
    computed = _computed(question)
    if computed is not None:
        return computed
    found = [one for pointer in question.usable if pointer.object >= 0 and (one := _wrapped(question, pointer))]
    inside = [one for one in found if one[2] * one[1] < one[0].size]
    best = inside or found
    if not best:
        return None
    pointer, element, index, product = min(best, key=lambda one: (one[0].inside, one[0].argument))
    if len({one[0].object for one in inside or found}) > 1 and not inside:
        return None  # from this far, two buffers look alike
    near, about = ("an element near ", "about ") if question.within > 1 else ("element ", "")
    said = (
        f"a 32-bit index overflowed: {near}{index:,} of {pointer.name} is past 2,147,483,647, so the index became {about}{index - WRAP:,}"
    )
    large = f"{pointer.name} has {pointer.size // element:,} elements, more than a 32-bit signed integer can index"
    evidence = (
        Evidence(f"{_product(product)} does not fit in a 32-bit signed integer" if product else large),
        Evidence(f"{pointer.name} is {question.memory(pointer.object)}"),
    )
    return Reason("index-overflow", said, evidence, pointer.argument, pointer.object)


def _computed(question: Question) -> Reason | None:
    """By the kernel's code: the index is computed to one number, and the access has another, which differs by what 32 bits lose."""
    origin = question.origin
    pointer = next((p for p in question.pointers if p.object >= 0), None)
    if origin is None or pointer is None or origin.meant is None or origin.index is None or origin.meant == origin.index:
        return None
    if (origin.meant - origin.index) % WRAP:
        return None
    evidence = (Evidence(f"{pointer.name} is {question.memory(pointer.object)}"),)
    if 0 > origin.meant >= -HALF:
        said = f"an unsigned 32-bit index of {pointer.name} went below zero: {origin.meant:,} became {origin.index:,}"
        return Reason("out-of-bounds-access", said, evidence, pointer.argument, pointer.object)
    said = f"a 32-bit index of {pointer.name} overflowed: {origin.meant:,} does not fit, so the index became {origin.index:,}"
    return Reason("index-overflow", said, evidence, pointer.argument, pointer.object)


def _wrapped(question: Question, pointer: Pointer) -> tuple[Pointer, int, int, tuple[Number, ...]] | None:
    """The element size, the index that was meant, and the product of the launch's numbers that reaches it; no numbers where the
    buffer alone shows it: it has elements that a 32-bit index cannot reach, and this is one of them."""
    assert question.address is not None
    offset = question.address - pointer.value
    if offset >= 0:
        return None
    sizes = [pointer.element] if pointer.element else [e for e in (question.width, *ELEMENTS) if e]
    for element in dict.fromkeys(sizes):
        if (offset % element and question.within < element) or offset // element < -HALF:
            continue
        meant, held = offset // element + WRAP, pointer.size // element
        large = meant < held <= WRAP
        product = _reaches(question, meant, only_arguments=large)
        if large or (product and meant * element < max(pointer.size, 1) * SLACK):
            return pointer, element, meant, product
    return None


def _reaches(question: Question, meant: int, only_arguments: bool) -> tuple[Number, ...]:
    """Numbers of the launch whose product is past 2^31 and at least what was meant; the smallest such product. A number that was
    already negative when it was passed wrapped on the host."""
    host = [
        n
        for n in question.numbers
        if n.argument is not None and -HALF <= n.value < 0 and abs(n.value + WRAP - meant) < HALF // 8
    ]
    if host:
        return (Number(f"{host[0].name} before it wrapped", host[0].value + WRAP, host[0].argument),)
    large = [n for n in question.numbers if 1 < n.value < MOST and (n.argument is not None or not only_arguments)]
    found = []
    for count in (1, 2, 3):
        for some in combinations(large, count):
            value = prod(number.value for number in some)
            if HALF <= value < MOST and meant <= value * SLACK and not _counts_twice(some):
                found.append((count, abs(value - meant), some))
        if found:
            break
    return min(found, key=lambda one: one[:2])[2] if found else ()


def _counts_twice(numbers: tuple[Number, ...]) -> bool:
    """The threads of an axis are its blocks times the threads of each: no index multiplies them with either."""
    extents = [number.name for number in numbers if number.argument is None]
    axes = [name[-1] for name in extents]
    return any(name.startswith("threads in") and axes.count(name[-1]) > 1 for name in extents)


def _product(numbers: tuple[Number, ...]) -> str:
    value = prod(number.value for number in numbers)
    names = " x ".join(f"{number.value:,} ({number.name})" for number in numbers)
    return f"{names} = {value:,}" if len(numbers) > 1 else names
