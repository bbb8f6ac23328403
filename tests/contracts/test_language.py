"""What an expression may say, and that nothing else gets in, however it is written."""

from __future__ import annotations

import time

import pytest

from gpudx.contracts.language import ALLOCATIONS, DEEPEST, ERRORS, FUNCTIONS, LAUNCHES, LONGEST, Refused, Table, parse


@pytest.mark.parametrize(
    ("text", "names", "memory"),
    [
        ("head_dim % 2 == 0", ("head_dim",), ()),
        ("bytes(x) >= S*H*D*4", ("x", "S", "H", "D"), ("x",)),
        ("grid.x * block.x >= n and threads.z == 1", ("n",), ()),
        ("not is_null(q) and aligned(q, 16) or offset(k) == size(v)", ("q", "k", "v"), ("q", "k", "v")),
        ("1 <= n < 2**31 - 1 and n & (n - 1) == 0 and n << 2 > 0x10", ("n",), ()),
        ("min(a, b, c) > abs(-d) and max(a, 1.5) / 2 // 1 != 0", ("a", "b", "c", "d"), ()),
        ("launch > 3 and queue == 0 and shared <= 49152", (), ()),
        ("size > 0 and bytes(size) >= size", ("size",), ("size",)),
        ("  n\n  >  0 ", ("n",), ()),
    ],
)
def test_allowed(text: str, names: tuple[str, ...], memory: tuple[str, ...]) -> None:
    made = parse(text, LAUNCHES)
    assert (made.names, made.memory) == (names, memory)


HOSTILE = [
    "__import__('os').system('true')", "().__class__.__bases__[0]", "x.__class__", "grid.__class__", "getattr(x, 'y')",
    "eval('1')", "open('f')", "lambda: 0", "[n for n in (1,)]", "{1: 2}", "(1, 2)", "x[0]", "'text'", "b'text'", "f'{n}'",
    "n if n else n", "(n := 3)", "await n", "yield", "*n", "**n", "...", "None", "True", "1j", "~n", "a @ b", "a is b",
    "a in b", "a ^ b", "a | b", "n; m", "import os", "min(*n)", "min(n, key=n)", "bytes(n)(n)", "bytes(n).x", "grid", "n.x.y",
    "n\0", "\ufeff", "", " ", "#", "bytes()", "bytes(1)", "bytes(launch)", "bytes(grid.x)", "aligned(x)", "min(1)", "é = 1",
]  # fmt: skip


@pytest.mark.parametrize("text", [text for text in HOSTILE if text != "grid"])
def test_nothing_else_gets_in(text: str) -> None:
    with pytest.raises(Refused):
        parse(text, LAUNCHES)


HUGE = {
    "powers": "9**9**9",
    "shifts": "1<<10**9",
    "a huge exponent": "n ** 100000000000000000000",
    "a negative exponent": "n ** -1",
    "an exponent from the record": "2 ** n",
    "a fractional exponent": "n ** 0.5",
    "powers of powers": "((n**15)**15)**15",
    "products": "*".join(["n"] * 40),
    "digits": "9" * 400,
    "an infinity": "1e999",
    "parentheses": "(" * 240 + "1" + ")" * 240,
    "brackets": "[" * 240 + "]" * 240,
    "signs": "-" * (LONGEST - 1) + "1",
    "nots": "not " * 100 + "n",
    "sums": "+".join(["1"] * (DEEPEST + 1)),
    "calls": "abs(" * 80 + "n" + ")" * 80,
    "length": "n > 0 and " * 100_000 + "n > 0",
    "a long name": "n" * (LONGEST + 1),
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_nothing_is_huge(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(Refused) as refused:
        parse(text, LAUNCHES)
    assert time.process_time() - begin < 0.5
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("text", "table", "says"),
    [
        ("byte(x) > 0", LAUNCHES, "there is no function byte; did you mean bytes?"),
        ("a && b", LAUNCHES, "write and for &&"),
        ("a || b", LAUNCHES, "write or for ||"),
        ("!a", LAUNCHES, "write not for !"),
        ("n = 3", LAUNCHES, "write == to compare"),
        ("bytes(in) > 0", LAUNCHES, "in is a word of the grammar: name that argument by its place (arg0, arg1, ...)"),
        ("grid.w > 0", LAUNCHES, "write grid.x, grid.y or grid.z"),
        ("bytes(x + 1) > 0", LAUNCHES, "bytes takes the name of an argument; write bytes(arg)"),
        ("aligned(x)", LAUNCHES, "write aligned(arg, n)"),
        ("sise == 0", ALLOCATIONS, "allocations have no sise; did you mean size?"),
        ("bytes(x) == 0", ALLOCATIONS, "bytes(...) takes arguments, and allocations have none"),
        ("grid.x == 0", ERRORS, "is not allowed"),
        ("2 ** n", LAUNCHES, "the right operand of ** must be a whole number from 0 to 64, written out"),
    ],
)
def test_a_refusal_says_what_is_meant(text: str, table: Table, says: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(text, table)
    assert says in str(refused.value)


def test_an_argument_may_be_called_like_a_function() -> None:
    """Only parentheses make a function, and only a dot makes a shape."""
    for name in (*FUNCTIONS, "grid", "block", "threads"):
        assert parse(f"{name} > 0", LAUNCHES).names == (name,)
