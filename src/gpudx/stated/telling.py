"""What a row was given, in the words of a finding."""

from __future__ import annotations

import ast

import numpy as np

from gpudx.stated.evaluate import value
from gpudx.stated.language import COMPARISONS, Expression
from gpudx.stated.launches import Launches

MOST_ARGUMENTS = 16
MOST_NUMBERS = 5


def sides(expression: Expression, table: Launches, place: int) -> str:
    """ " (1,024 >= 4,096)": what the two sides of a comparison are in one launch; "" for other expressions."""
    tree = expression.tree
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return ""
    left, right = value(tree.left, table), value(tree.comparators[0], table)
    if not (left.known[place] and right.known[place]):
        return ""
    return f" ({_number(left.values[place])} {COMPARISONS[type(tree.ops[0])]} {_number(right.values[place])})"


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
    told = [table.told(place, index) for index in indexes[:MOST_ARGUMENTS]]
    return ", ".join([*told, *more]) or "no arguments"


def numbered(table: Launches, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    """ "launch 9", "launches 9, 21 and 3 more"."""
    numbers = [f"{int(table.rows[place]) + 1:,}" for place in places[:MOST_NUMBERS]]
    more = len(places) - len(numbers)
    return f"launch{'es' if len(places) > 1 else ''} {', '.join(numbers)}" + (f" and {more:,} more" if more else "")
