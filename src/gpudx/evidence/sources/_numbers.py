"""Integer expressions of sources, as far as they are constant: numbers, names of constants, arithmetic."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

LONGEST = 300
DEEPEST = 12  # names that stand for names
LARGEST = 1 << 62
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlLzZ]+\b")
_CAST = re.compile(r"\(\s*(?:unsigned|int|size_t|long|const|uint|ulong|\s)+\)")
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class _Unknown(Exception):
    """Not a constant, or nothing that is read here."""


def evaluate(text: str, names: Mapping[str, str | int], unknown: int | None = None) -> int | None:
    """The value of an expression; None where it is not constant. `unknown` is what names that nobody defined stand for."""
    try:
        return _of(text, names, unknown, 0)
    except (_Unknown, SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _of(text: str, names: Mapping[str, str | int], unknown: int | None, depth: int) -> int:
    if len(text) > LONGEST or depth > DEEPEST:
        raise _Unknown
    plain = _CAST.sub("", _SUFFIX.sub(r"\1", text.replace("'", ""))).replace("/", "//").replace("////", "//")
    plain = plain.replace("&&", " and ").replace("||", " or ")
    plain = re.sub(r"!(?!=)", " not ", plain)
    return _value(ast.parse(plain.strip(), mode="eval").body, names, unknown, depth)


def _value(node: ast.expr, names: Mapping[str, str | int], unknown: int | None, depth: int) -> int:
    def inner(one: ast.expr) -> int:
        return _value(one, names, unknown, depth)

    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return _named(node.id, names, unknown, depth)
    if isinstance(node, ast.UnaryOp):
        value = inner(node.operand)
        return int(not value) if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BoolOp):
        values = [bool(inner(one)) for one in node.values]
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return int(_applied(node.ops[0], inner(node.left), inner(node.comparators[0])))
    if isinstance(node, ast.BinOp):
        return _applied(node.op, inner(node.left), inner(node.right))
    raise _Unknown


def _applied(op: ast.AST, left: int, right: int) -> int:
    if type(op) not in _OPERATORS or (isinstance(op, ast.LShift | ast.RShift) and not 0 <= right < 63):
        raise _Unknown
    value = _OPERATORS[type(op)](left, right)
    if abs(value) > LARGEST:
        raise _Unknown
    return value


def _named(name: str, names: Mapping[str, str | int], unknown: int | None, depth: int) -> int:
    if name in ("true", "false"):
        return int(name == "true")
    if name not in names:
        if unknown is None:
            raise _Unknown
        return unknown
    value = names[name]
    return value if isinstance(value, int) else _of(value, names, unknown, depth + 1)
