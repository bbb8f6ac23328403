"""What a row was given, in the words of a finding."""

from __future__ import annotations

import ast

import numpy as np

from gpudx.contracts.columns import compare
from gpudx.contracts.evaluate import value
from gpudx.contracts.given import Given
from gpudx.contracts.language import AXES, COMPARISONS, Expression
from gpudx.contracts.launches import Argument, Launches

MOST_ARGUMENTS = 16
MOST_NUMBERS = 5


def sides(expression: Expression, table: Launches, place: int) -> str:
    """ " (1,024 is not >= 4,096)": the two sides of a comparison in one launch; "" for other expressions."""
    tree = expression.tree
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return ""
    left, right = value(tree.left, table), value(tree.comparators[0], table)
    if not (left.known[place] and right.known[place]):
        return ""
    holds = "" if compare(tree.ops[0], left, right).values[place] else "is not "
    return f" ({_number(left.values[place])} {holds}{COMPARISONS[type(tree.ops[0])]} {_number(right.values[place])})"


def _number(number: object) -> str:
    if isinstance(number, float | np.floating):
        return f"{float(number):g}"
    return str(bool(number)).lower() if isinstance(number, bool | np.bool_) else f"{int(str(number)):,}"


def arguments(table: Launches, place: int) -> str:
    """ "C = memory #6 (1,024 bytes), n = 64": all arguments of one launch."""
    args = table.facts.launches.arguments
    first, last = np.searchsorted(args.launch, [table.rows[place], table.rows[place] + 1])
    indexes = args.index[first:last].tolist()
    more = [f"{len(indexes) - MOST_ARGUMENTS} more"] if len(indexes) > MOST_ARGUMENTS else []
    told = [argument(table, place, index) for index in indexes[:MOST_ARGUMENTS]]
    return ", ".join([*told, *more]) or "no arguments"


def argument(table: Launches, place: int, index: int) -> str:
    """ "C = memory #6 (1,024 bytes) + 64", "n = 64", of one launch."""
    name, known = table.called(index)
    given = table.given(name, known)
    if not given.there[place]:
        return f"{name} was not recorded"
    if given.object[place] >= 0:
        return f"{name} = {_memory(given, place)}"
    number = table.value(name, known)
    is_number = number.known[place] and not table.is_pointer(known)
    return f"{name} = {_number(number.values[place]) if is_number else hex(int(given.word[place]))}"


def _memory(given: Given, place: int) -> str:
    row = int(given.object[place])
    text = given.facts.memory.describe(row)
    addressed = given.facts.launches.by_address[given.rows[place]]
    into = given.facts.memory.offset(row, int(given.word[place])) if addressed else 0
    return f"{text} + {into:,}" if into else text


def used(expression: Expression, table: Launches, place: int) -> str:
    """The same of what an expression asks for: "x = memory #2 (64 bytes), grid = 4 x 1 x 1"."""
    found = [table.find(name) for name in expression.names]
    told = [argument(table, place, one.index) for one in found if isinstance(one, Argument)]
    asked = {
        node.value.id
        for node in ast.walk(expression.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return ", ".join(dict.fromkeys([*told, *(f"{shape} = {_shape(table, shape, place)}" for shape in sorted(asked))]))


def _shape(table: Launches, shape: str, place: int) -> str:
    sizes = [table.shape(shape, axis) for axis in AXES]
    return " x ".join(_number(one.values[place]) if one.known[place] else "?" for one in sizes)


def numbered(table: Launches, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    """ "launch 9", "launches 9, 21 and 3 more"."""
    numbers = [f"{int(table.rows[place]) + 1:,}" for place in places[:MOST_NUMBERS]]
    more = len(places) - len(numbers)
    return f"launch{'es' if len(places) > 1 else ''} {', '.join(numbers)}" + (f" and {more:,} more" if more else "")
