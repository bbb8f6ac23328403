"""An expression over a table: one answer per row, all rows at once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts import columns
from gpudx.contracts.columns import Column
from gpudx.contracts.language import FUNCTIONS, Expression

Bool = NDArray[np.bool_]
OTHERS: dict[str, Callable[[list[Column]], Column]] = {
    "min": lambda operands: columns.extreme(ast.Lt(), operands),
    "max": lambda operands: columns.extreme(ast.Gt(), operands),
    "abs": lambda operands: columns.absolute(operands[0]),
}


class Rows(Protocol):
    """A table whose rows have names for numbers. A name that does not exist gives a column without values."""

    def __len__(self) -> int: ...

    def number(self, name: str) -> Column: ...

    def shape(self, name: str, axis: str) -> Column: ...

    def memory(self, function: str, name: str, operands: list[Column]) -> Column: ...


@dataclass(frozen=True)
class Answer:
    """Where an expression is true, where it is false, and why it is neither elsewhere."""

    true: Bool
    false: Bool
    why: columns.Why

    @property
    def unknown(self) -> Bool:
        return ~(self.true | self.false)

    def reasons(self, rows: Bool) -> dict[str, int]:
        """In how many of these rows each reason took the answer away."""
        found: dict[str, Bool] = {}
        for reason, where in self.why:
            found[reason] = found.get(reason, np.zeros(len(rows), bool)) | where
        counts = {reason: int((where & rows & self.unknown).sum()) for reason, where in found.items()}
        return {reason: count for reason, count in counts.items() if count}


def answer(expression: Expression, rows: Rows) -> Answer:
    """The expression's answer in each row."""
    told = columns.truth(value(expression.tree, rows))
    return Answer(told.known & told.values, told.known & ~told.values, told.why)


def value(node: ast.expr, rows: Rows) -> Column:
    """The value of a checked tree in each row."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return columns.constant(number, len(rows))
        case ast.Name(id=name):
            return rows.number(name)
        case ast.Attribute(value=ast.Name(id=name), attr=axis):
            return rows.shape(name, axis)
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, node, rows)
        case ast.BinOp():
            return columns.arithmetic(node.op, value(node.left, rows), value(node.right, rows))
        case ast.UnaryOp():
            return _signed(node, rows)
        case ast.BoolOp():
            join = columns.both if isinstance(node.op, ast.And) else columns.either
            return reduce(join, (value(one, rows) for one in node.values))
        case ast.Compare():
            return _compared(node, rows)
    raise AssertionError(f"{type(node).__name__} passed the check of the language")


def _called(name: str, node: ast.Call, rows: Rows) -> Column:
    of_argument = FUNCTIONS[name].of_argument
    operands = [value(one, rows) for one in node.args[of_argument:]]
    if of_argument and isinstance(node.args[0], ast.Name):
        return rows.memory(name, node.args[0].id, operands)
    return OTHERS[name](operands)


def _signed(node: ast.UnaryOp, rows: Rows) -> Column:
    inner = value(node.operand, rows)
    if isinstance(node.op, ast.Not):
        return columns.negated(inner)
    return columns.negative(inner) if isinstance(node.op, ast.USub) else inner


def _compared(node: ast.Compare, rows: Rows) -> Column:
    """`a < b < c` is `a < b and b < c`."""
    sides = [value(one, rows) for one in (node.left, *node.comparators)]
    pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
    return reduce(columns.both, (columns.compare(op, left, right) for op, left, right in pairs))
