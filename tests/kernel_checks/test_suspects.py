"""Places in a source that experiments give another text: which there are, and what the text becomes."""

from __future__ import annotations

import pytest

pytest.importorskip("clang.cindex")

from gpudx.kernel_checks.suspects import Edit, edited, hash_of, tree_of
from gpudx.kernel_checks.unset_variables import filled, unset
from gpudx.kernel_checks.wide_arithmetic import narrow, told, wraps

HEAD = "__kernel void k(__global const int *in, __global float *out, int n, float f) { int i = get_global_id(0); %s }"


def names(body: str, options: str = "") -> list[str]:
    return [one.name for one in unset(HEAD % body, options)]


def texts(body: str, options: str = "") -> list[str]:
    return [one.text for one in narrow(HEAD % body, options)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int first; for (int k = 0; k < n; k++) if (in[k] == i) first = k; out[i] = first;", ["first"]),
        ("int a = 1, b; if (n) b = a; out[i] = b;", ["b"]),
        ("float s; for (int k = 0; k < n; k++) s += in[k]; out[i] = s;", ["s"]),
        ("float4 v; v.xyz = (float3)(1); out[i] = v.w;", ["v"]),
        ("float t[4]; t[0] = 1; out[i] = t[3];", ["t"]),
        ("struct { int x, y; } s; s.x = 1; out[i] = s.y;", ["s"]),
        ("int k; int *p = &k; if (n) *p = 1; out[i] = k;", ["k"]),
        ("int a; if (n) a = 1; else a = 2; out[i] = a;", []),
        ("int a = 0; if (n) a = 1; out[i] = a;", []),
        ("__local int t[4]; out[i] = t[i & 3];", ["t"]),
        ("if (i >= n) return; __local int t[4]; out[i] = t[i & 3];", []),  # not all work-items would fill it
        ("float t[2] = {1, 2}; out[i] = t[1];", []),
        ("__global float *p; p = out; p[i] = 1;", []),
    ],
)
def test_variables_that_may_be_read_too_early(body: str, expected: list[str]) -> None:
    assert names(body) == expected


def test_what_is_known_of_one() -> None:
    source = "int pick(int n) {\n  int a;\n  if (n) a = 1;\n  return a;\n}\n" + HEAD % "out[i] = pick(n); int b; out[1] = b;"
    one, other = unset(source, "")
    assert (one.function, one.kernels, one.line, one.used, one.certain) == ("pick", ("k",), 2, 4, False)
    assert (other.name, other.certain) == ("b", True)


def test_a_filled_source_is_read_by_the_compiler() -> None:
    declared = "char c; ulong u; double d; float4 v[2]; struct { char x; } s;"
    source = HEAD % (declared + " if (n) { c = u = d = 1; s.x = 1; } out[i] = c + u + d + v[1].x + s.x;")
    found = unset(source, "")
    assert [one.name for one in found] == ["c", "u", "d", "v", "s"]
    text = edited(source, [edit for one in found for edit in filled(one, "3f3f3f3f")])
    assert tree_of(text, "") is not None and "as_double(0x3f3f3f3f3f3f3f3fUL)" in text and "{" not in text.partition("as_double(")[2][:30]


def test_a_filled_local_array_is_read_by_the_compiler() -> None:
    source = HEAD % "__local float t[4][3]; __local uchar b[7]; out[i] = t[i & 3][0] + b[0];"
    found = unset(source, "")
    text = edited(source, [edit for one in found for edit in filled(one, "3f3f3f3f")])
    assert {one.space for one in found} == {"local"} and tree_of(text, "") is not None and text.count("barrier(") == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("uint s = 0; for (int k = 0; k < n; k++) s += in[k] * in[k]; out[i] = s;", ["s += in[k] * in[k]"]),
        ("SUM s = 0; for (int k = 0; k < n; k++) s += in[k]; out[i] = s;", ["s += in[k]"]),
        ("int all = in[i] * n; out[i] = all / f;", ["all = in[i] * n"]),
        ("out[i] = (float)(in[i] * n) / 2;", ["in[i] * n"]),
        ("out[i] = in[i] * n;", ["in[i] * n"]),
        ("if (in[i] * n > 7) out[i] = 1;", ["in[i] * n"]),
        ("int at = i * n; out[at] = 1;", []),  # an index
        ("out[i * n] = in[i + 1] * f;", []),
        ("float s = 0; for (int k = 0; k < n; k++) s += f * f; out[i] = s;", []),
        ("ulong s = 0; s += (ulong)in[i] * in[i]; out[i] = s;", []),
        ("uint h = in[i]; h ^= h >> 3; out[i] = h & 255;", []),
    ],
)
def test_sums_and_products_of_few_bits(body: str, expected: list[str]) -> None:
    assert texts(body, "-DSUM=uint") == expected


def test_a_widened_source_is_read_by_the_compiler_and_prints_what_does_not_fit() -> None:
    source = HEAD % "uint s = 0; for (int k = 0; k < n; k++) s += in[k] * (1 + in[k]); out[i] = s / f + (in[i] << n) / 3.0f;"
    found = narrow(source, "")
    assert [one.text for one in found] == ["s += in[k] * (1 + in[k])", "in[i] << n"]
    text = edited(source, [edit for one in found for edit in one.edits])
    assert "long s = 0;" in text and "s += (long)(in[k]) * (1 + (long)(in[k]))" in text and "((long)(in[i]) << n)" in text
    for number, one in enumerate(found, 1):
        assert tree_of(edited(source, told(one, number)), "") is not None
    assert "{ long gdx_was = s; s += " in edited(source, told(found[0], 1))


def test_what_a_run_printed_is_read() -> None:
    (one,) = wraps("other\ngdx-wrap 2 4284497246 4303971815 4 0 0\ngdx-wrap nonsense\n")
    assert (one.number, one.before, one.after, one.item) == (2, 4284497246, 4303971815, (4, 0, 0))


def test_edits_keep_their_order_and_do_not_overlap() -> None:
    assert edited("äbc", [Edit(2, 2, "1"), Edit(2, 2, "2"), Edit(2, 3, "x"), Edit(0, 2, "a")]) == "a12xc"
    assert edited("abcdef", [Edit(0, 4, "x"), Edit(2, 3, "y")]) == "xef"


def test_the_hash_is_the_recorders() -> None:
    assert (hash_of(b""), hash_of(b"abc")) == ("cbf29ce484222325", "e71fa2190541574b")  # FNV-1a, published test vectors


def test_a_source_that_cannot_be_read_has_no_suspects() -> None:
    assert unset("__kernel void k( {", "") == () and narrow("#include <nowhere.h>\n__kernel void k() {}", "") == ()
