"""What the sizes of a launch's memory say, in words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import prod

from gpudx.detectors._undersized import AXES, MOST_FACTORS, MOST_NUMBERS, Factors, Short, object_of
from gpudx.detectors._words import argument, declared
from gpudx.facts import Facts
from gpudx.facts.pointer_extent import rooms_of
from gpudx.text import plural


def told(facts: Facts, short: Short) -> str:
    """ "argument 0 (float*) has room for 3,200 values (12,800 bytes) in memory #3; ... require 4,096, ..."."""
    row = int(facts.launches.kernel_row[short.launch])
    label = facts.objects.label(object_of(facts, short))
    return (
        f"{argument(facts, row, short.argument)} has room for {plural(short.room // short.element, 'value')} "
        f"({plural(short.room, 'byte')}) in {label}; {_product(facts, row, short.factors, short.values)} "
        f"{_require(short)} {short.need // short.element:,}, {plural(short.missing, 'byte')} more; "
        f"in {plural(short.fitting, 'other launch', 'other launches')} of this kernel the size fits exactly"
    )


def brief(facts: Facts, short: Short) -> str:
    """ "by its size, argument 0 (float*) is too small: it has room for 64 values, but n (128) requires 128"."""
    row = int(facts.launches.kernel_row[short.launch])
    return f"by its size, {argument(facts, row, short.argument)} is too small: it {room_and_need(facts, short)}"


def room_and_need(facts: Facts, short: Short) -> str:
    """ "has room for 16,384 values, but argument 3 x argument 4 (64 x 512) require 32,768"."""
    row = int(facts.launches.kernel_row[short.launch])
    return (
        f"has room for {plural(short.room // short.element, 'value')}, but {_product(facts, row, short.factors, short.values)} "
        f"{_require(short)} {short.need // short.element:,}"
    )


def _require(short: Short) -> str:
    return "require" if len(short.factors) > 1 else "requires"


def _product(facts: Facts, kernel_row: int, factors: Iterable[int], values: Iterable[int]) -> str:
    """ "rows x columns (64 x 32)"."""
    names = [_name(facts, kernel_row, index) for index in factors]
    return f"{' x '.join(names)} ({' x '.join(f'{value:,}' for value in values)})"


def _name(facts: Facts, kernel_row: int, index: int) -> str:
    if index < 0:
        return f"the work-items in {'xyz'[AXES.index(index)]}"
    known = declared(facts, kernel_row, index)
    return (known.name if known else "") or f"argument {index}"


def fits(facts: Facts, launch: int) -> list[str]:
    """A sentence for each pointer of a launch whose room is exactly a product of the launch's numbers."""
    function = int(facts.kernels.functions(facts.launches.kernel_row[launch : launch + 1])[0])
    table = rooms_of(facts, function) if function >= 0 else None
    row = table.row_of(launch) if table else -1
    if table is None or row < 0:
        return []
    numbers = {i: int(n[row]) for i, n in table.numbers.items() if n[row] > 1}
    if len(numbers) > MOST_NUMBERS:
        return []
    sentences = (_fits(facts, launch, a, int(table.rooms[a][row]), numbers) for a in table.parameters.pointers)
    return [sentence for sentence in sentences if sentence]


def _fits(facts: Facts, launch: int, index: int, room: int, numbers: dict[int, int]) -> str | None:
    """Exact in values, else in bytes: the second is right only for kernels that count bytes."""
    row = int(facts.launches.kernel_row[launch])
    known = declared(facts, row, index)
    element = (known.element if known else None) or 1
    name = argument(facts, row, index)
    values, in_bytes = _product_of(numbers, room / element), _product_of(numbers, room)
    if values:
        told = _product(facts, row, values, (numbers[i] for i in values))
        return f"{name} has room for {plural(room // element, 'value')}, exactly {told}"
    if len(in_bytes) > 1:
        told = _product(facts, row, in_bytes, (numbers[i] for i in in_bytes))
        return (
            f"{name} has room for {plural(room, 'byte')}, exactly {told} taken as bytes; "
            f"counted in values of {plural(element, 'byte')} they would require {room * element:,} bytes"
        )
    return None


def _product_of(numbers: dict[int, int], wanted: float) -> Factors:
    """The fewest of the numbers whose product this is; empty if there are none."""
    products = (chosen for count in range(1, MOST_FACTORS + 1) for chosen in combinations(numbers, count))
    return next((chosen for chosen in products if prod(numbers[i] for i in chosen) == wanted), ())
