"""Which small changes to kernels are tried: what may have been meant, and nothing that cannot be."""

from __future__ import annotations

import pytest

from gpudx.kernel_checks.word_changes import changes

BLUR = """
// out[y * width] in a comment, "text" and a macro are left alone
#define WIDE(w) (w < 9)
inline float mean(float sum, int count) { return sum / count; }
__kernel void blur(__global const float *in, __global float *out, int width, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    float s = 0;
    if (pitch < 0) out[0] = mean(s, width);
    for (int k = 0; k < 3; k++) s += in[y * pitch + x + k];
    out[y * width + x] = s / 3;
}
"""


LEAST = """
__kernel void copy(__global const float *in, __global float *out, int width, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = in[y * pitch + x];
}
"""


def tried(*texts: str) -> set[tuple[str, str]]:
    """The line as it is, and as it becomes."""
    return {(one.was, one.becomes) for text in texts for one in changes({text: ("blur", "copy")})}


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("out[y * width + x] = s / 3;", "out[y * pitch + x] = s / 3;"),
        ("out[y * width + x] = s / 3;", "out[x * width + x] = s / 3;"),
        ("out[y * width + x] = s / 3;", "out[y * width + x] += s / 3;"),
        ("out[y * width + x] = s / 3;", "out[y * width + x] = s / 4;"),
        ("if (x >= width) return;", "if (x > width) return;"),
        ("for (int k = 0; k < 3; k++) s += in[y * pitch + x + k];", "for (int k = 0; k <= 3; k++) s += in[y * pitch + x + k];"),
        ("int x = get_global_id(0), y = get_global_id(1);", "int x = get_local_id(0), y = get_global_id(1);"),
        ("int x = get_global_id(0), y = get_global_id(1);", "int x = get_global_id(0), y = get_global_id(0);"),
    ],
)
def test_what_may_have_been_meant_is_tried(was: str, becomes: str) -> None:
    assert (was, becomes) in tried(BLUR)


def test_a_quotient_of_integers_is_tried_in_floating_point() -> None:
    assert any(becomes.endswith("return sum /(float) count; }") for _, becomes in tried(BLUR))


@pytest.mark.parametrize(
    "becomes",
    [
        "#define WIDE(w) (w <= 9)",  # a macro may be used anywhere
        "if (width >= width) return;",
        "if (k >= width) return;",  # not declared yet
        "for (int k = 0; x < 3; k++) s += in[y * pitch + x + k];",  # would turn for ever
        "int x += get_global_id(0), y = get_global_id(1);",
        "int x = get_global_id(0), y += get_global_id(1);",
    ],
)
def test_what_cannot_be_meant_is_not(becomes: str) -> None:
    assert becomes not in {after for _, after in tried(BLUR)}


def becoming(text: str, *kernels: str) -> dict[str, int]:
    """What lines become, and which place that has among all changes."""
    found: dict[str, int] = {}
    for number, one in enumerate(changes({text: kernels or ("k",)})):
        found.setdefault(one.becomes, number)
    return found


def kernel(body: str, head: str = "__global float *out, __global const float *in, int n") -> str:
    return f"__kernel void k({head}) {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("body", "head", "becomes"),
    [
        ("float top = FLT_MIN;\ntop = fmax(top, in[n]);", None, "float top = -FLT_MAX;"),
        ("float top = 0.0f;\ntop = fmax(top, in[n]);", None, "float top = -INFINITY;"),
        ("int low = 0;\nlow = min(low, n);", None, "int low = INT_MAX;"),
        ("h = h ^ s[n];", "__global const char *s, uint h, int n", "h = h ^ (uchar)s[n];"),
        ("h += *s;", "__global const unsigned char *s, uint h", "h += (char)*s;"),
    ],
)
def test_what_is_rarely_right_comes_first(body: str, head: str | None, becomes: str) -> None:
    assert becoming(kernel(body, head) if head else kernel(body)).get(becomes, 99) < 3


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("float top = -FLT_MIN;\ntop = fmax(top, in[n]);", None),  # nothing of a minimum
        ("float sum = 0.0f;\nsum += fmax(in[n], 1.0f);", None),  # a sum begins with 0
        ("int count = 0;\nout[count] = max(n, 1);", None),
        ("s[n] = 3;", "__global char *s, int n"),  # what is stored has no sign to lose
        ("out[n] = w[n];", "__global int *w, __global int *out, int n"),
        ("out[n] = s[n] != s[n - 1];", "__global uchar *s, __global int *out, int n"),  # with a sign of one, equal bytes are unequal
    ],
)
def test_sums_begin_with_0_and_bytes_are_stored(body: str, head: str | None) -> None:
    lines = becoming(kernel(body, head) if head else kernel(body))
    assert not [line for line in lines if "INF" in line or "INT_M" in line or "char)" in line or "MAX" in line], lines


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("out[n] = w * a * a + b * b;", "out[n] = w * (a * a + b * b);"),
        ("out[n] = w * a * a + b * b;", "out[n] = w * a * (a + b * b);"),
        ("out[n] = lo + hi / 2;", "out[n] = (lo + hi) / 2;"),
        ("int k = a - b & c;", "int k = a - (b & c);"),
        ("if (a & b == c) return;", "if ((a & b) == c) return;"),
        ("int k = 1 << n - 1;", "int k = (1 << n) - 1;"),
        ("out[n] = a / b / c;", "out[n] = a / (b / c);"),
        ("out[n] = a - b - f(c, d + e);", "out[n] = a - (b - f(c, d + e));"),
    ],
)
def test_parentheses_are_tried(line: str, becomes: str) -> None:
    assert becomes in becoming(kernel(line))


@pytest.mark.parametrize(
    "line", ["out[n] = a * b * c;", "out[n] = a + b + c;", "out[n] = a + b, a * c;", "out[n] = (a + b) * c;", "a = -b;"]
)
def test_parentheses_that_change_nothing_are_not(line: str) -> None:
    assert not [after for after in becoming(kernel(line)) if after.count("(") > line.count("(")]


PAIR = """
__kernel void first(__global int *a, int n) {
    int start = get_group_id(0) * 8, i = get_local_id(0);
    int up = (i & n) == 0;
    a[start + i] = up;
}
__kernel void second(__global int *a, int n) {
    int start = get_group_id(0) * 8, i = get_local_id(0);
    int up = ((start + i) & n) == 0;
    a[start + i] = up + 1;
}
"""


def test_what_a_sibling_says_is_tried_first() -> None:
    assert becoming(PAIR, "first")["int up = ((start + i) & n) == 0;"] == 0


def test_only_functions_that_a_launched_kernel_runs_are_changed() -> None:
    text = "int used(int i) { return i + 1; }\nint unused(int i) { return i + 2; }\n" + kernel("out[n] = used(n);")
    found = changes({text: ("k",)})
    assert any("i + 2" in one.becomes and one.kernels == ("k",) for one in found if "used" in one.was)
    assert not [one for one in found if "unused" in one.was]


def test_comments_and_strings_are_left_alone() -> None:
    assert all(not was.startswith("//") for was, _ in tried(BLUR))


@pytest.mark.parametrize(
    "text",
    ["", "}}}((", "__kernel void f(", '"never closed', "#define A \\", "kernel void f() {" * 50, "\x00[(\ud7ff"],
)
def test_text_that_is_no_program_is_read_without_an_error(text: str) -> None:
    tried(text)
