"""What an expression may say. It is read with Python's grammar and checked node by node; nothing of it is ever executed.

Allowed are numbers, names, arithmetic, comparisons, and/or/not, and what FUNCTIONS, SHAPES and the words of a table
list: docs/contracts.md is made from them. Everything else is refused with a sentence. Lengths, depths and sizes are
bounded, so that no expression can take more than moments: whole numbers stay below 2^MOST_BITS whatever they are given,
which also means that each of them has a nearest floating-point number.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

LONGEST = 500
DEEPEST = 50
MOST_BITS = 1000
WORD_BITS = 64  # of every recorded value
MOST_POWER = 64  # the largest exponent or shift
MOST_OPERANDS = 8  # of min and max
AXES = ("x", "y", "z")
ARGUMENT = re.compile(r"arg(0|[1-9]\d{0,2})")


class Refused(ValueError):
    """The expression is not one; the text says why, and what is allowed instead."""


@dataclass(frozen=True)
class Function:
    """A function: how many operands it takes, whether the first must be an argument of the kernel, and its meaning."""

    least: int
    most: int
    of_argument: bool
    usage: str
    meaning: str


FUNCTIONS = {
    "bytes": Function(
        1,
        1,
        True,
        "bytes(arg)",
        "bytes from the pointer to the end of the allocation it points into; the size of a buffer that is named by a handle",
    ),
    "size": Function(1, 1, True, "size(arg)", "bytes of the whole allocation"),
    "offset": Function(1, 1, True, "offset(arg)", "bytes from the start of the allocation to the pointer"),
    "is_null": Function(1, 1, True, "is_null(arg)", "is it a null pointer? A null pointer has 0 bytes"),
    "aligned": Function(2, 2, True, "aligned(arg, n)", "is the pointer a multiple of n?"),
    "min": Function(2, MOST_OPERANDS, False, "min(a, b, ...)", "the smallest"),
    "max": Function(2, MOST_OPERANDS, False, "max(a, b, ...)", "the largest"),
    "abs": Function(1, 1, False, "abs(a)", "without its sign"),
}
SHAPES = {
    "grid": "groups of the launch along .x, .y, .z",
    "block": "work-items of one group along .x, .y, .z",
    "threads": "work-items of the launch along .x, .y, .z; also known where the driver chose the groups",
}


@dataclass(frozen=True)
class Table:
    """What the rows of a table are called, which words each has, and which other names may stand there."""

    rows: str
    words: Mapping[str, str]
    others: str = ""  # what a name that is no word can be; "": nothing
    of_launches: bool = False


LAUNCHES = Table(
    "launches",
    {
        "launch": "the number of the launch in its process, from 1, as `gpudx show CASE launches` has it",
        "queue": "the number of its queue (2 for queue #2); 0 for the default queue",
        "shared": "bytes of dynamic shared (local) memory",
    },
    "an argument",
    of_launches=True,
)
ALLOCATIONS = Table(
    "allocations",
    {
        "size": "bytes",
        "number": "its number in reports (6 for buffer #6)",
        "made": "the number of the call that made it",
        "freed": "was it freed while the program was watched?",
        "host": "is it host memory that devices can reach?",
    },
)
ERRORS = Table(
    "errors",
    {
        "status": "what the call returned; compare it with a number or with the API's name for it",
        "call": "the call; compare it with the name of an API entry",
        "number": "the number of the call in its process, from 1",
        "reported": "does it only report an earlier fault of the device?",
        "loading": "does its status say that device code could not be loaded or found?",
    },
    "the name of a status or of a call",
)
TABLES = (LAUNCHES, ALLOCATIONS, ERRORS)

ARITHMETIC = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
LITERAL_RIGHT = (ast.Pow, ast.LShift, ast.RShift)
FROM_C = {"&&": "and", "||": "or", "!": "not"}
ALLOWED = "allowed are numbers, names, + - * / // % ** << >> &, comparisons, and, or, not, and " + ", ".join(FUNCTIONS)


@dataclass(frozen=True)
class Expression:
    """A checked expression over the rows of `table`; `line` is where it stands in its file."""

    text: str
    tree: ast.expr
    table: Table
    line: int = 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names it uses that are no words of the language, in order."""
        functions = {id(n.func) for n in ast.walk(self.tree) if isinstance(n, ast.Call)}
        shapes = {id(n.value) for n in ast.walk(self.tree) if isinstance(n, ast.Attribute)}
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and id(n) not in functions | shapes]
        found.sort(key=lambda name: name.col_offset)
        return tuple(dict.fromkeys(n.id for n in found if n.id not in self.table.words))

    @cached_property
    def memory(self) -> tuple[str, ...]:
        """The arguments whose memory it asks about, in order."""
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and FUNCTIONS[_called(n)].of_argument]
        calls.sort(key=lambda call: call.col_offset)
        return tuple(dict.fromkeys(n.args[0].id for n in calls if isinstance(n.args[0], ast.Name)))


def parse(text: str, table: Table, line: int = 0) -> Expression:
    """The expression in `text`. Refused when it is none, or may not be one."""
    plain = " ".join(text.split())
    if len(plain) > LONGEST:
        raise Refused(f"an expression may have {LONGEST} characters, and this one has {len(plain):,}; split it")
    tree = _tree(plain)
    _check_depth(tree)
    _check(tree, table)
    _bits(tree)
    return Expression(plain, tree, table, line)


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean rows?", or nothing."""
    close = closest(name, known)
    return f"; did you mean {close}?" if close else ""


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like it, "" if none is."""
    return next(iter(difflib.get_close_matches(name, list(known), 1)), "")


def _tree(text: str) -> ast.expr:
    if not text:
        raise Refused('an expression is missing; write one, for example "n > 0"')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is refused below anyway
            return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        raise Refused(_too_deep()) from None
    except (SyntaxError, ValueError) as error:
        if "nested parentheses" in str(error):
            raise Refused(_too_deep()) from None
        raise Refused(f"{_cut(text)} is not an expression{_hint(text)}") from None


def _too_deep() -> str:
    return f"an expression may be nested {DEEPEST} deep, and this one is deeper; split it"


def _hint(text: str) -> str:
    """What was probably meant."""
    for sign, word in FROM_C.items():
        if sign in text.replace("!=", ""):
            return f"; write {word} for {sign}"
    if re.search(r"(?<![=<>!])=(?!=)", text):
        return "; write == to compare"
    words = [w for w in re.findall(r"\w+", text) if keyword.iskeyword(w) and w not in ("and", "or", "not")]
    if words:
        return f"; {words[0]} is a word of the grammar: name that argument by its place (arg0, arg1, ...)"
    return f"; {ALLOWED}"


def _cut(text: str) -> str:
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'


def _check_depth(tree: ast.expr) -> None:
    """Without recursion: the parser reads deeper than we may walk."""
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise Refused(_too_deep())
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _check(node: ast.expr, table: Table) -> None:
    match node:
        case ast.Constant(value=value):
            _check_number(value, node)
        case ast.Name(id=name):
            _check_name(name, table)
        case ast.Attribute(value=ast.Name(id=shape), attr=axis):
            _check_shape(shape, axis, node, table)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            _check_call(name, node, table)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            _check_operands(node, table)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd()) | ast.BoolOp():
            _check_operands(node, table)
        case ast.Compare(ops=ops) if all(type(op) in COMPARISONS for op in ops):
            _check_operands(node, table)
        case _:
            _refuse(node)


def _refuse(node: ast.expr) -> NoReturn:
    raise Refused(f"{_cut(ast.unparse(node))} is not allowed; {ALLOWED}")


def _check_operands(node: ast.expr, table: Table) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child, table)


def _check_number(value: object, node: ast.expr) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(node)
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("a number is too large; write one below 1e308")
    if isinstance(value, int) and value >= 1 << WORD_BITS:
        raise Refused(f"a whole number is too large; write one below 2**{WORD_BITS}")


def _check_name(name: str, table: Table) -> None:
    if name in table.words or table.others:  # an argument may be called like a function, which has parentheses
        return
    known = f"{table.rows} have {', '.join(table.words)}"
    raise Refused(f"{table.rows} have no {name}{nearest(name, table.words)} ({known})")


def _check_shape(shape: str, axis: str, node: ast.expr, table: Table) -> None:
    if shape not in SHAPES or not table.of_launches:
        _refuse(node)
    if axis not in AXES:
        raise Refused(f"{shape}.{axis} is not allowed; write {shape}.x, {shape}.y or {shape}.z")


def _check_call(name: str, node: ast.Call, table: Table) -> None:
    function = FUNCTIONS.get(name)
    if function is None:
        raise Refused(f"there is no function {name}{nearest(name, FUNCTIONS)} (known: {', '.join(FUNCTIONS)})")
    if function.of_argument and not table.of_launches:
        raise Refused(f"{name}(...) takes arguments, and {table.rows} have none")
    if not function.least <= len(node.args) <= function.most:
        raise Refused(f"{name} takes other operands; write {function.usage}")
    if function.of_argument and (not isinstance(node.args[0], ast.Name) or node.args[0].id in table.words):
        raise Refused(f"{_cut(ast.unparse(node))}: {name} takes the name of an argument; write {function.usage}")
    for operand in node.args[function.of_argument :]:
        _check(operand, table)


# ---- how large whole numbers can become ----


def _bits(node: ast.expr) -> int:
    """Bits that are enough for every whole number this can give."""
    match node:
        case ast.Constant(value=int(value)):
            needed = max(value.bit_length(), 1)
        case ast.BinOp():
            needed = _bits_of(node, _bits(node.left), _bits(node.right))
        case ast.Name() | ast.Attribute() | ast.Constant():
            needed = WORD_BITS
        case ast.Call() if FUNCTIONS[_called(node)].of_argument:
            needed = max([WORD_BITS, *map(_bits, node.args[1:])])
        case _:
            needed = max((_bits(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)), default=1)
    if needed > MOST_BITS:
        raise Refused(
            f"{_cut(ast.unparse(node))} can have more than {MOST_BITS} bits; use smaller powers and fewer products"
        )
    return needed


def _bits_of(node: ast.BinOp, left: int, right: int) -> int:
    if isinstance(node.op, LITERAL_RIGHT):
        count = _literal(node)
        return {ast.Pow: left * max(count, 1), ast.LShift: left + count}.get(type(node.op), left)
    if isinstance(node.op, ast.Mult):
        return left + right
    return max(left, right) + 1


def _literal(node: ast.BinOp) -> int:
    """The exponent or shift, which must be written out: then no recorded value can make it huge."""
    count = node.right.value if isinstance(node.right, ast.Constant) else None
    if isinstance(count, int) and count <= MOST_POWER:
        return count
    sign = ARITHMETIC[type(node.op)]
    raise Refused(f"the right operand of {sign} must be a whole number from 0 to {MOST_POWER}, written out")


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""
