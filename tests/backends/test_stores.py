"""Kernels that only read through a pointer without const, by their source."""

from __future__ import annotations

import pytest

from gpudx.backends.opencl.stores import only_reads, only_stored

HEAD = "typedef struct { int x; } pair;\nkernel void k(global float *a, global float *out, int n) { int i = get_global_id(0); "


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = a[i];",
        "out[i] += a[i] * a[i + 1];",
        "if (a[i] == 0) return; out[i] = -a[i];",
        "float x = i < n ? a[i] : 0; out[i] = x;",
        "out[(int)a[i]] = 1;",
        "out[i] = sqrt(a[i]); // a[i] = 3",
        "for (int j = 0; j < n; j++) out[j] = max(out[j], a[j]);",
        "out[i] = 1;",
    ],
)
def test_loads(body: str) -> None:
    assert only_reads(HEAD + body + " }", "k", "a")
    assert not only_reads(HEAD + body + " }", "k", "out")


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = 1;",
        "a[i]++;",
        "++a[i];",
        "a[i] += 2;",
        "a[i] <<= 1;",
        "*a = 1;",
        "*(a + i) = 1;",
        "helper(a, i);",
        "global float *b = a; b[i] = 1;",
        "atomic_add((global int *)a, 1);",
        "global float *p = &a[i]; *p = 1;",
        "vstore4((float4)(0), i, a);",
        "a[a[i] > 0 ? i : 0] = 1;",
        "i[a] = 1;",
        "a += 1; *a = 2;",
        "STORE(a[i]);\n#define STORE(x) x = 1\n",
    ],
)
def test_what_may_be_a_store_is_no_load(body: str) -> None:
    assert not only_reads(HEAD + body + " }", "k", "a")


def test_other_names_and_definitions() -> None:
    assert not only_reads("#define W a[0] = 1\n" + HEAD + "W; }", "k", "a")
    assert not only_reads(HEAD + "out[i] = a[i]; }\n" + HEAD + "a[i] = 1; }", "k", "a"), "two definitions: which one is built?"
    assert not only_reads("kernel void k(global float *a);", "k", "a")
    assert not only_reads("", "k", "a")


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = n;",
        "out[i] = a[i]; out[i + 1] += 2 * n;",
        "{ out[get_global_id(0)] = n; }",
        "uint v = n; for (int k = 0; k < 64; k++) v = v * 1664525u + 1013904223u; out[i] = v + i;",
        "float f = (float)n * 0.5f, g = fma(f, f, 1.0f); out[i] = sqrt(g);",
        "int v = n; v++; out[i] = v & 7;",
    ],
)
def test_a_number_that_is_only_stored(body: str) -> None:
    assert only_stored(HEAD + body + " }", "k", "n")


@pytest.mark.parametrize(
    "body",
    [
        "out[i + n] = 1;",
        "if (i < n) out[i] = 1;",
        "int at = n; out[at] = 1;",
        "out[i] = i < n ? 1 : 2;",
        "out[i] = a[i * n];",
        "for (int j = 0; j < n; j++) out[j] = 1;",
        "int v = n; int w = v + 1; out[w] = 1;",
        "int v = n; if (v > 2) out[i] = 1;",
        "int v = n; while (v--) out[v] = 1;",
        "put(out, n);",
        "global float *p = out + n; p[i] = 1;",
        "int v[2]; v[0] = n; out[v[0]] = 1;",
        "int v = n; int *p = &v; out[*p] = 1;",
    ],
)
def test_a_number_that_may_say_where(body: str) -> None:
    assert not only_stored(HEAD + body + " }", "k", "n")
