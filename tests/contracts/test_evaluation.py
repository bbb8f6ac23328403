"""All rows at once give what Python gives for each row alone, and what is not known is never guessed."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.simulated import times

from gpudx.contracts.columns import Column, column
from gpudx.contracts.evaluate import answer, value
from gpudx.contracts.language import LAUNCHES, Refused, parse

NAMES = ("a", "b", "c", "f")
TYPES = {"a": np.int64, "b": np.uint64, "c": np.int32, "f": np.float64}
EDGES = {
    "a": st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-8, 8)),
    "b": st.one_of(st.integers(0, (1 << 64) - 1), st.integers(0, 8), st.just(1 << 53), st.just((1 << 53) + 1)),
    "c": st.integers(-(1 << 31), (1 << 31) - 1),
    "f": st.one_of(st.floats(), st.integers(-8, 8).map(float), st.just(float(1 << 53))),
}


class Unknown:
    """A value that was not recorded: whatever touches it fails."""

    def __getattr__(self, name: str) -> Any:
        raise NameError(name)

    def _fail(self, *_: Any) -> Any:
        raise NameError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __lshift__ = __rshift__ = __and__ = __rand__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __bool__ = _fail
    __eq__ = __ne__ = _fail
    __hash__ = None  # type: ignore[assignment]


class Given:
    """Rows of plain values, None where there is none."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, name: str) -> Column:
        cells = [row[name] for row in self.rows]
        known = np.array([cell is not None for cell in cells], bool)
        values = np.array([0 if cell is None else cell for cell in cells], TYPES[name])
        return column(values, known, ((f"{name} is missing", ~known),))

    def shape(self, name: str, axis: str) -> Column:
        raise AssertionError

    def memory(self, function: str, name: str, operands: list[Column]) -> Column:
        raise AssertionError


def rows_of(missing: bool) -> st.SearchStrategy[list[dict[str, Any]]]:
    cells = {name: st.one_of(st.none(), edge) if missing else edge for name, edge in EDGES.items()}
    return st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=6)


SIGNS = ("+", "-", "*", "/", "//", "%", "&", "==", "!=", "<", "<=", ">", ">=", "and", "or")
LEAVES = (*NAMES, *NAMES, "0", "1", "3", "0.5", "2.0", str(1 << 53), str((1 << 64) - 1))


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Any expression of the language over NAMES."""
    form = draw(st.integers(0, 7)) if depth else 0
    parts = [draw(expressions(depth - 1)) for _ in range({0: 0, 1: 1, 2: 1, 3: 1, 4: 2, 5: 3}.get(form, 2))]
    if form == 0:
        return draw(st.sampled_from(LEAVES))
    if form == 1:
        return f"({draw(st.sampled_from(('-', 'not ', '+')))}{parts[0]})"
    if form == 2:
        return f"({parts[0]} {draw(st.sampled_from(('**', '<<', '>>')))} {draw(st.integers(0, 7))})"
    if form == 3:
        return f"abs({parts[0]})"
    if form == 4:
        return f"{draw(st.sampled_from(('min', 'max')))}({', '.join(parts)})"
    if form == 5:
        return f"({parts[0]} <= {parts[1]} < {parts[2]})"
    return f"({parts[0]} {draw(st.sampled_from(SIGNS))} {parts[1]})"


class _Ours(ast.NodeTransformer):
    """What the language has otherwise than Python: powers of whole numbers only, and `and`, `or` that give truths."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return ast.BoolOp(node.op, [ast.Call(ast.Name("bool", ast.Load()), [one], []) for one in node.values])

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], [])


def power(base: Any, exponent: int) -> Any:
    if isinstance(base, float):
        raise TypeError
    return base**exponent


def alone(text: str, row: dict[str, Any]) -> tuple[str, Any]:
    """What Python says of one row: ("value", it), or ("nothing", why)."""
    scope = {name: Unknown() if cell is None else cell for name, cell in row.items()}
    try:
        tree = ast.fix_missing_locations(_Ours().visit(ast.parse(text, mode="eval")))
        functions = {"__builtins__": {}, "min": min, "max": max, "abs": abs, "bool": bool, "power": power}
        return "value", eval(compile(tree, "text", "eval"), functions, scope)
    except (ZeroDivisionError, TypeError, NameError) as error:
        return "nothing", type(error).__name__


@settings(max_examples=times(1500), deadline=None)
@given(expressions(), rows_of(missing=False))
@example("(a * b)", [{"a": (1 << 63) - 1, "b": (1 << 64) - 1, "c": 0, "f": 0.0}])
@example("(b == f)", [{"a": 0, "b": (1 << 53) + 1, "c": 0, "f": float(1 << 53)}])
@example("(a // c)", [{"a": -(1 << 63), "b": 0, "c": -1, "f": 0.0}])
@example("(-(a * a) < (b / 3))", [{"a": -(1 << 63), "b": (1 << 64) - 1, "c": -1, "f": 0.0}])
def test_every_value_is_pythons(text: str, rows: list[dict[str, Any]]) -> None:
    try:
        tree = parse(text, LAUNCHES).tree
    except Refused as error:
        assert "bits" in str(error)
        return
    whole = value(tree, Given(rows))
    for place, row in enumerate(rows):
        what, wanted = alone(text, row)
        if what == "value":
            assert whole.known[place]
            got = whole.values[place]
            got = got.item() if isinstance(got, np.generic) else got
            same_nan = wanted != wanted and got != got
            assert same_nan or got == wanted, (text, row, got, wanted)


@settings(max_examples=times(800), deadline=None)
@given(expressions(), rows_of(missing=True))
def test_what_is_missing_is_never_guessed(text: str, rows: list[dict[str, Any]]) -> None:
    """Python evaluates from the left and stops early. Where it got an answer so do we, and the same one."""
    try:
        told = answer(parse(text, LAUNCHES), Given(rows))
    except Refused:
        return
    for place, row in enumerate(rows):
        what, wanted = alone(text, row)
        if what == "value" and not isinstance(wanted, Unknown):
            assert bool(told.true[place]) == bool(wanted) and not told.unknown[place], (text, row)
        only = np.arange(len(rows)) == place
        assert bool(told.reasons(only)) == bool(told.unknown[place]), (text, row)
    assert not (told.true & told.false).any()


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("a > 0 and c > 0", {"a": -1}, False),
        ("a > 0 and c > 0", {"c": -1}, False),
        ("a > 0 or c > 0", {"c": 1}, True),
        ("a > 0 and c > 0", {"a": 1}, None),
        ("not c > 0", {}, None),
        ("c * 0 == 0", {}, None),
        ("a % c == 0", {"a": 4, "c": 0}, None),
        ("c != 0 and a % c == 0", {"a": 4, "c": 0}, False),
        ("f > 0", {"f": float("nan")}, False),
    ],
)
def test_one_side_can_be_enough(text: str, row: dict[str, Any], wanted: bool | None) -> None:
    rows = Given([{name: row.get(name) for name in NAMES}])
    told = answer(parse(text, LAUNCHES), rows)
    assert (bool(told.true[0]), bool(told.false[0])) == (wanted is True, wanted is False)


def test_reasons_are_counted_where_they_mattered() -> None:
    rows = Given([{"a": 1, "b": None, "c": None, "f": 1.0}, {"a": 0, "b": None, "c": 1, "f": 1.0}])
    told = answer(parse("a > 0 and b > c", LAUNCHES), rows)
    assert told.reasons(np.ones(2, bool)) == {"b is missing": 1, "c is missing": 1}


def test_whole_numbers_stay_64_bits_wide_where_they_fit() -> None:
    """The quick way is taken where it is exact, and left where it is not."""
    rows = Given([{"a": 1 << 40, "b": 1 << 20, "c": 2, "f": 0.0}])
    assert value(parse("a * c", LAUNCHES).tree, rows).values.dtype == np.int64
    assert value(parse("a * b * c * c * c", LAUNCHES).tree, rows).values.dtype == object
    assert value(parse("a * b * c * c * c", LAUNCHES).tree, rows).values[0] == 1 << 63
