"""Exact arithmetic over all rows at once, as Python does it for one.

A column is of 64-bit integers, of floating-point numbers, of truths, or of Python's own numbers. Whole numbers never
wrap: before each operation the bounds of its operands say whether every result fits into 64 bits; where one may not, the
operation is done with Python's integers, which is slower and exact. The same where a whole number above 2^53 meets a
floating-point number.

A row may have no value. What depends on it has none either, but for `and` and `or`, where one side can be enough.
`why` says for each reason in which rows it took a value away.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bool = NDArray[np.bool_]
Values = NDArray[Any]
Why = tuple[tuple[str, Bool], ...]
LEAST, MOST = -(1 << 63), (1 << 63) - 1
EXACT = 1 << 53  # up to here every whole number is a floating-point number
BY_ZERO = "it divides by zero"
NOT_WHOLE = "powers, shifts and & are of whole numbers only"

OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
}
RELATIONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
DIVIDING = (ast.Div, ast.FloorDiv, ast.Mod)
WHOLE_ONLY = (ast.Pow, ast.LShift, ast.RShift, ast.BitAnd)
GROWING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)


@dataclass(frozen=True)
class Column:
    """One value per row. Where `known` is False the value means nothing; it is kept small, and not 0."""

    values: Values
    known: Bool
    why: Why = ()

    def __len__(self) -> int:
        return len(self.values)


def column(values: Values, known: Bool, why: Why = ()) -> Column:
    """A column of recorded numbers, of any type of numpy's."""
    if values.dtype.kind == "f":
        return Column(np.where(known, values.astype(np.float64), 1.0), known, why)
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and (values[known] > np.uint64(MOST)).any():
        return Column(np.where(known, values.astype(object), 1), known, why)
    if values.dtype.kind == "b":
        return Column(values & known, known, why)
    return Column(np.where(known, values.astype(np.int64), 1), known, why)


def constant(value: float, rows: int) -> Column:
    """The same number in every row."""
    known = np.ones(rows, bool)
    if isinstance(value, int):
        return Column(np.full(rows, value, np.int64 if value <= MOST else object), known)
    return Column(np.full(rows, value, np.float64), known)


def unknown(rows: int, reason: str) -> Column:
    """No value in any row."""
    return Column(np.ones(rows, np.int64), np.zeros(rows, bool), ((reason, np.ones(rows, bool)),))


# ---- arithmetic ----


def arithmetic(op: ast.operator, left: Column, right: Column) -> Column:
    """`left op right`, row by row."""
    kind, a, b = type(op), _numbers(left.values), _numbers(right.values)
    known, why = left.known & right.known, left.why + right.why
    if kind in DIVIDING:
        lost = known & (b == 0)
        b = np.where(b == 0, np.ones(1, b.dtype), b)
        known, why = _without(known, why, lost, BY_ZERO)
    if kind in WHOLE_ONLY:
        lost = known & (_fractional(a) | _fractional(b))
        a, b = (np.where(_fractional(v), 1, v) if v.dtype == object else _as_whole(v) for v in (a, b))
        known, why = _without(known, why, lost, NOT_WHOLE)
    return Column(_result(kind, a, b), known, why)


def _result(kind: type[ast.operator], a: Values, b: Values) -> Values:
    with np.errstate(all="ignore"):
        if a.dtype == object or b.dtype == object or not _safe(kind, a, b):
            return OPERATORS[kind](a.astype(object), b.astype(object))
        if a.dtype != b.dtype:
            a, b = a.astype(np.float64), b.astype(np.float64)
        return OPERATORS[kind](a, b)


def _safe(kind: type[ast.operator], a: Values, b: Values) -> bool:
    """Does the operation of the machine give the exact result in every row?"""
    if a.dtype != np.int64 or b.dtype != np.int64 or not len(a):
        return True  # with a floating-point number: whole numbers are rounded first, in Python too
    corners = [(x, y) for x in _bounds(a) for y in _bounds(b)]
    if kind is ast.Div:
        return all(max(abs(x), abs(y)) <= EXACT for x, y in corners)
    if kind in GROWING:
        return all(LEAST <= OPERATORS[kind](x, y) <= MOST for x, y in corners)
    return min(x for x, _ in corners) > LEAST


def _bounds(values: Values) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _numbers(values: Values) -> Values:
    return values.astype(np.int64) if values.dtype == bool else values


def _as_whole(values: Values) -> Values:
    return values if values.dtype == np.int64 else np.ones(len(values), np.int64)


def _fractional(values: Values) -> Bool:
    """Which rows hold floating-point numbers?"""
    if values.dtype != object:
        return np.full(len(values), values.dtype == np.float64)
    return np.fromiter((isinstance(v, float) for v in values), bool, len(values))


def _without(known: Bool, why: Why, lost: Bool, reason: str) -> tuple[Bool, Why]:
    return (known & ~lost, (*why, (reason, lost))) if lost.any() else (known, why)


def negative(of: Column) -> Column:
    return (
        arithmetic(ast.Sub(), constant(0, len(of)), of) if of.values.dtype != np.float64 else _mapped(of, np.negative)
    )


def absolute(of: Column) -> Column:
    values = _numbers(of.values)
    if values.dtype == np.int64 and _bounds(values)[0] == LEAST:
        values = values.astype(object)
    return _mapped(Column(values, of.known, of.why), np.abs)


def _mapped(of: Column, what: Callable[[Values], Values]) -> Column:
    return Column(what(of.values), of.known, of.why)


def extreme(relation: ast.cmpop, operands: Sequence[Column]) -> Column:
    """The smallest (Lt) or largest (Gt) of each row; the first of equals."""
    best = operands[0]
    for other in operands[1:]:
        a, b = _numbers(best.values), _numbers(other.values)
        if a.dtype != b.dtype:
            a, b = a.astype(object), b.astype(object)
        values = np.where(_related(type(relation), b, a), b, a)
        best = Column(values, best.known & other.known, best.why + other.why)
    return best


# ---- truths ----


def compare(op: ast.cmpop, left: Column, right: Column) -> Column:
    """`left op right`, row by row."""
    values = _related(type(op), _numbers(left.values), _numbers(right.values))
    return Column(values, left.known & right.known, left.why + right.why)


def _related(kind: type[ast.cmpop], a: Values, b: Values) -> Bool:
    if a.dtype != b.dtype and object not in (a.dtype, b.dtype):
        whole = a if a.dtype == np.int64 else b
        if max(map(abs, _bounds(whole))) > EXACT:
            a, b = a.astype(object), b.astype(object)
    with np.errstate(all="ignore"):
        return np.asarray(RELATIONS[kind](a, b), bool)


def truth(of: Column) -> Column:
    """Numbers are true where they are not 0, as in C."""
    return of if of.values.dtype == bool else Column(np.asarray(of.values != 0, bool), of.known, of.why)


def negated(of: Column) -> Column:
    return _mapped(truth(of), np.logical_not)


def both(left: Column, right: Column) -> Column:
    """False where either side is known to be, true where both are."""
    a, b = truth(left), truth(right)
    no = (a.known & ~a.values) | (b.known & ~b.values)
    return Column(a.values & b.values & ~no, no | (a.known & b.known), a.why + b.why)


def either(left: Column, right: Column) -> Column:
    """True where either side is known to be, false where both are."""
    return negated(both(negated(left), negated(right)))
