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


def test_comments_and_strings_are_left_alone() -> None:
    assert all(not was.startswith("//") for was, _ in tried(BLUR))


@pytest.mark.parametrize(
    "text",
    ["", "}}}((", "__kernel void f(", '"never closed', "#define A \\", "kernel void f() {" * 50, "\x00[(\ud7ff"],
)
def test_text_that_is_no_program_is_read_without_an_error(text: str) -> None:
    tried(text)
