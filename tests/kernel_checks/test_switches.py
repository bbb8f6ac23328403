"""Many changes in one source: what stands in it, and that it compiles."""

from __future__ import annotations

import pytest

from gpudx.kernel_checks.switches import is_kernel_called, refused, switched_text
from gpudx.kernel_checks.word_changes import Change, changes

TEXT = """
#define CUBE(x) half_of(x) * (x)
float half_of(float x);
float nothing(void) { return 0.0f; }
float half_of(float x) { return x / 2.0f; }
__kernel void k(__global float *out, int n) {
    int a = get_global_id(0), b = a + 1;
    __local int tile[8];
    if (a >= n || b > n)
        return;
    for (int i = 0; i < n; i++)
        out[a] += half_of(out[b]) + nothing();
    out[a] = CUBE(n + 1);
}
"""


def switch(was: str, before: str, after: str, text: str = TEXT) -> str:
    """The source with one change, and no line that it does not touch."""
    at = text.index(was) + was.index(before)
    found, numbers = switched_text(text, {7: Change("k", "k", ("k",), text, at, before, after)})
    return found if numbers else ""


@pytest.mark.parametrize(
    ("was", "before", "after", "becomes"),
    [
        ("b = a + 1", "+", "-", "int a = get_global_id(0), b = (gdx_m == 7u ? (a - 1) : (a + 1));"),
        ("a = get_global_id", "get_global_id", "get_local_id", "int a = (gdx_m == 7u ? (get_local_id(0)) : (get_global_id(0))), b ="),
        ("a >= n", ">=", ">", "if ((gdx_m == 7u ? (a > n || b > n) : (a >= n || b > n)))"),
        ("i < n;", "<", "<=", "for (int i = 0; (gdx_m == 7u ? (i <= n) : (i < n)); i++)"),
        ("i = 0", "0", "1", "for (int i = (gdx_m == 7u ? (1) : (0)); i < n; i++)"),
        ("x / 2", "/", "*", "return (gdx_m == 7u ? (x * 2.0f) : (x / 2.0f));"),
    ],
)
def test_an_expression_is_chosen_as_a_whole(was: str, before: str, after: str, becomes: str) -> None:
    assert becomes in switch(was, before, after)


def test_the_number_reaches_every_function() -> None:
    found = switch("n + 1", "1", "2")
    assert "__kernel void k(__global float *out, int n, uint gdx_m)" in found
    assert "float half_of(uint gdx_m, float x);" in found and "float half_of(uint gdx_m, float x) {" in found
    assert "float nothing(uint gdx_m) {" in found and "half_of(gdx_m, out[b]) + nothing(gdx_m)" in found
    assert "#define CUBE(x) half_of(gdx_m, x) * (x)" in found


@pytest.mark.parametrize(
    ("was", "before", "after", "text"),
    [
        ("tile[8]", "8", "9", TEXT),  # the size of an array
        ("i < 4", "<", "<=", "__kernel void k(int n) { for (int i = 0; i < 4; i++) { barrier(1); } }"),
        ("case 1", "1", "2", "__kernel void k(int n) { switch (n) { case 1: n = 3; } }"),
        ("{ 1, 2 }", "2", "3", "__kernel void k(int n) { int a[2] = { 1, 2 }; n = a[1]; }"),
    ],
)
def test_what_must_be_known_before_is_left_alone(was: str, before: str, after: str, text: str) -> None:
    assert switch(was, before, after, text) == ""


def test_changes_that_do_not_compile_are_found() -> None:
    suspects = pytest.importorskip("gpudx.kernel_checks.suspects")
    pytest.importorskip("clang.cindex")
    mine = dict(enumerate(changes({TEXT: ("k",)}), 1))
    at = TEXT.index("n || b")
    mine[999] = Change("k", "k", ("k",), TEXT, at, "n", "i")  # i is not known there
    wrong = refused(mine, lambda text: suspects.compiles(text, ""))
    assert 999 in wrong and not [str(mine[one]) for one in wrong - {999} if suspects.compiles(mine[one].whole, "")]
    mine = {number: change for number, change in mine.items() if number not in wrong}
    text, numbers = switched_text(TEXT, mine)
    assert suspects.compiles(text, "") and len(numbers) > 0.8 * len(mine)


def test_a_kernel_that_another_one_calls_is_seen() -> None:
    called = TEXT + "__kernel void other(__global float *out) { k(out, 3); }"
    assert is_kernel_called(called) and not is_kernel_called(TEXT)
