"""The buffer was allocated for other numbers than the launch was passed: its size is a product of some of them, and the access lies within
another."""

from __future__ import annotations

from itertools import combinations

from gpudx.access.question import Number, Pointer, Question, Reason
from gpudx.model import Evidence

ELEMENTS = (4, 2, 8, 1, 16)
LEAST = 16  # numbers below this make any product


def explain(question: Question) -> Reason | None:
    if question.address is None:
        return None
    past = [p for p in question.usable if question.address >= p.end]
    pointer = question.nearest(past)
    found = _products(question, pointer) if pointer else None
    return _reason(question, pointer, *found) if pointer and found else None


def _products(question: Question, pointer: Pointer) -> tuple[int, Number, tuple[Number, ...], int] | None:
    """(element, the shared factor, the factors that the launch needs, elements allocated): the allocation is the shared factor
    times a number that the launch does not use, and the launch's own product reaches the access."""
    assert question.address is not None
    numbers = [n for n in question.numbers if n.value >= LEAST and n.argument is not None]
    for element in [pointer.element] if pointer.element else ELEMENTS:
        if pointer.size % element:
            continue
        held = pointer.size // element
        reached = (question.address - pointer.begin) // element
        for pair in combinations(numbers, 2):
            need = pair[0].value * pair[1].value
            if not held < need or not held <= reached < need:
                continue
            shared = next((n for n in pair if held % n.value == 0 and held // n.value > 1), None)
            if shared is not None and (held * 8 >= need or need == question.threads):
                return element, shared, pair, held
            alone = next((n for n in pair if held == n.value), None)
            if alone is not None and _is_written(question, pointer):
                return element, alone, pair, held
    return None


def _is_written(question: Question, pointer: Pointer) -> bool:
    """A buffer with as many elements as one number says may be meant so, if it is only read: one row for all of them."""
    return question.writes or (not question.kind and pointer.element is not None and not pointer.read_only)


def _reason(
    question: Question, pointer: Pointer, element: int, shared: Number, need: tuple[Number, ...], held: int
) -> Reason:
    total = need[0].value * need[1].value
    site = question.made(pointer.object)
    line = f", allocated at {site.source}," if site and site.source else ""
    assert question.address is not None
    later = " or a later one" if question.within > element else ""
    factors = f"{shared.value:,} x {held // shared.value:,}" if held > shared.value else ""
    text = (
        f"{pointer.name} holds {f'{factors} = ' if factors else ''}{held:,} elements{line} and the access was to element "
        f"{(question.address - pointer.begin) // element:,}{later}: {need[0].name} x {need[1].name} is {need[0].value:,} x "
        f"{need[1].value:,} = {total:,}"
    )
    evidence = (
        Evidence(f"{question.memory(pointer.object)} is {factors or held} elements of {element} bytes"),
        Evidence(f"the launch was passed {need[0].name} = {need[0].value:,} and {need[1].name} = {need[1].value:,}"),
    )
    return Reason("undersized-buffer", text, evidence, pointer.argument, pointer.object, root=site)
