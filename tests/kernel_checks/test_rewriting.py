"""What is rewritten, what is left alone, and that hostile sources end in a reason."""

from __future__ import annotations

import random
import string
import time

import pytest

pytest.importorskip("clang.cindex")

from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.private_arrays import of_kernel
from gpudx.kernel_checks.rewriting import ALL, USUAL, rewrite
from gpudx.kernel_checks.syntax import Tree

EVERYTHING = frozenset(ALL)
AS_TYPE = [f"-Das_{name}(x)=__builtin_astype((x), {name})" for name in ("uint", "ulong", "float", "double")]  # drivers' headers have them
CL3 = "/* OpenCL C 3.0 */ "
GOOD = "__kernel void k(__global float *a, int n) { int i = get_global_id(0); if (i < n) a[i] += 1.0f; }\n"


def plan(source: str, checks: frozenset[str] = USUAL, options: str = ""):  # type: ignore[no-untyped-def]
    return rewrite(source, options, Device(), checks).rewritten


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        "typedef struct { float4 p; int n[3]; } S;\n__kernel void k(__global S *s, __constant int *c) { s[c[0]].n[c[1]] = s->n[2]; }\n",
        "__kernel void k(__global uchar *a) { a[get_global_id(0)] = max(a[0], a[1]); }\n",
        "__kernel void k(read_only image2d_t i, sampler_t s, __global float4 *o) { o[0] = read_imagef(i, s, (int2)(1, 2)); }\n",
        "__kernel void k(__global half *a, __global float *b) { vstore_half(b[1], 3, a); b[0] = vload_half4(0, a).x; }\n",
        "__kernel void k(__global int *a) { for (int i = 0, j = 9; i < j; i++, j--) a[i] = a[j], a[j] = i; }\n",
        "__kernel void k(__global int *a) { int x = a[0] ? a[1] : a[2]; switch (x) { case 1: a[3]++; default: --a[4]; } }\n",
        "__kernel void k(__global float2 *a) { float2 v = a[0]; v.x = a[1].y; a[2].xy = v.yx; a[3] = (float2)(v.x, as_float(7)); }\n",
        "void f(float *p) { *p = 1; }\n__kernel void k(__global float *a) { float x; f(&x); float y[2][3]; y[1][2] = x; a[0] = y[1][2]; }\n",  # noqa: E501
        "float g(__local float *);\n__kernel void k(__local float *l, __global float *o) { o[0] = g(l); }\nfloat g(__local float *l) { return l[0]; }\n",  # noqa: E501
        "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(__global int *restrict a) { if (get_local_id(0)) return; a[0] = 1; }\n",  # noqa: E501
        "__kernel void k(__global int *a) { __local int t[64]; int l = get_local_id(0); t[l] = a[l]; t[l] = t[l ^ 1]; a[l] = t[l]; }\n",
        "__kernel void k(__global int *a) { __local int t[8][8], s; int l = get_local_id(0); s = a[l]; t[l][1] = t[1][l]; s = s; a[l] = s; }\n",  # noqa: E501
        "__kernel void k(__global float4 *p, __global float4 *o, float z) { int i = get_global_id(0); p[i].xyz += o[i].xyz * z; p[i].lo /= o[i].hi; p[i].s0 *= p[i].w; }\n",  # noqa: E501
        "typedef struct { float3 v; int n[2]; } S;\n__kernel void k(__global S *s) { __local S t[4]; int i = get_global_id(0); t[i] = s[i]; t[i] = t[i ^ 1]; t[i].v.xy -= t[0].v.yz; s[i].v.zx = (s[i].n[0] = t[i].n[1], t[i].v.xy); }\n",  # noqa: E501
        "void swap(__local int *p, int i, int j) { int x = p[i]; p[i] = p[j]; p[j] = x; p[0] = p[1]; }\n__kernel void k(__global int *a) { __local int t[2][4]; swap(t[1], 0, 1); a[0] = a[1] = t[1][0]; }\n",  # noqa: E501
    ],
)
def test_the_result_is_opencl_c(source: str) -> None:
    for checks in (EVERYTHING, USUAL, *(frozenset({one}) for one in ALL)):
        text = plan(source, checks).text
        Tree(text, 120, 64, AS_TYPE)  # raises where clang finds an error


@pytest.mark.parametrize("standard", ["CL2.0", "CL3.0"])
def test_later_versions_of_the_language_are_read_with_their_atomic_types(standard: str) -> None:
    """cl::Program(context, source, true) of OpenCL's C++ header builds with -cl-std=CL2.0."""
    source = (
        "__kernel void k(__global const int *x, volatile __global atomic_int *sum, __global atomic_flag *lock, __global int *out)\n"
        "{ int i = get_global_id(0); atomic_fetch_add(sum, x[i]); atomic_flag_test_and_set(lock); out[x[i]] += 1; }\n"
    )
    done = plan(source, options=f"-cl-std={standard}")
    Tree(done.text, int(standard[2]) * 100, 64, [])
    assert done.kernels[0].checked >= 3


def test_the_time_grows_with_the_length_of_a_kernel() -> None:
    """Not with its square: one of 500 lines took 2.7 s."""

    def seconds(lines: int) -> float:
        body = "".join(f"  s += a[(i + {k}) % n]; a[i] = s;\n" for k in range(lines))
        began = time.process_time()
        plan(f"__kernel void k(__global float *a, int n) {{\n  int i = get_global_id(0); float s = 0;\n{body}}}\n")
        return time.process_time() - began

    seconds(50)
    assert seconds(400) < 10 * min(seconds(100) for _ in range(3))


def test_a_call_of_a_helper_inside_an_index() -> None:
    """sizeof and typeof of the access hold no call of a function that has more parameters now."""
    source = (
        "int near(int i, int n) { return min(i + 1, n - 1); }\n"
        "__kernel void k(__global float *a, int n) { int i = get_global_id(0); a[near(i, n)] = a[near(i, n)] + sizeof(near(i, n)); }\n"
    )
    done = plan(source, EVERYTHING)
    Tree(done.text, 120, 64, [])
    assert done.kernels[0].checked == 2


@pytest.mark.parametrize(
    ("declared", "access", "checked"),
    [
        ("typedef struct { uchar kind; uint len; } T;", "t->len", True),
        ("typedef struct __attribute__((packed)) { uchar kind; uint len; } T;", "t->len", False),
        ("typedef uint T;", "*t", True),
        ("typedef uint __attribute__((aligned(1))) T;", "*t", False),
    ],
)
def test_alignment_is_checked_where_the_type_asks_for_it(declared: str, access: str, checked: bool) -> None:
    body = f"{{ __global T *t = (__global T *)(raw + 1); out[0] = {access}; }}"
    source = f"{declared}\n__kernel void k(__global uchar *raw, __global uint *out) {body}"
    text = plan(source, frozenset({"bounds", "align"})).text
    assert ("gdx_at_a(gdx" in text) is checked


def test_helpers_with_barriers_are_inlined() -> None:
    helper = "static float f(__local float *t) { t[0] = 1; barrier(CLK_LOCAL_MEM_FENCE); return t[0]; }\n"
    source = helper + "__kernel void k(__global float *a) { __local float t[4]; a[0] = f(t) + f(t); }"
    assert "__attribute__((always_inline)) static float f" in plan(source).text


def test_options_and_macros_are_used_up() -> None:
    source = (
        "#if FAST\n__kernel void fast(__global TYPE *a) { a[N] = 0; }\n#else\n__kernel void slow(void) {}\n#endif\n"
    )
    done = rewrite(source, "-D FAST=1 -DTYPE=int -DN=(3) -Werror -cl-mad-enable", Device(), USUAL)
    assert [one.name for one in done.rewritten.kernels] == ["fast"]
    assert done.options == "-cl-mad-enable -w"


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "2.0", "3.0"])
def test_every_version_of_the_language(version: str) -> None:
    done = rewrite(GOOD, f"-cl-std=CL{version}", Device(), EVERYTHING)
    standard = max(float(version), 1.2)
    assert done.options == f"-cl-std=CL{standard} -w"
    Tree(done.rewritten.text, int(standard * 100), 64, [])


def test_functions_that_no_kernel_calls_are_left_out() -> None:
    helpers = "float used(float v) { return v; }\nfloat unused(__global float *p) { return used(p[9]); }\n"
    source = helpers + GOOD.replace("1.0f", "used(1.0f)")
    done = plan(source)
    Tree(done.text, 120, 64, [])
    assert not [site for site in done.sites if site.kernel == "unused"]


def test_a_loop_with_reads_that_are_left_out_ends() -> None:
    text = plan("__kernel void k(__global int *next) { int at = 0; while (at >= 0) at = next[at]; }\n").text
    assert "while ((gdx_goes_on(gdx) &&" in text


def test_loops_are_not_unrolled_with_all_their_checks() -> None:
    loop = "{}for (int i = 0; i < 8; i++) a[i] = i; "
    source = f"__kernel void k(__global int *a) {{\n#pragma unroll 4\n{loop.format('')}"
    source += loop.format("__attribute__((opencl_unroll_hint(8))) ") + "}\n"
    assert "unroll" not in plan(source).text
    assert "unroll" in plan(source, frozenset({"bounds"})).text


GATHER = """
__kernel void k(__global const float *a, __global float *b, __global const int *at, int n) {
  __local float t[8];
  INDEX i = get_global_id(0), l = get_local_id(0);
  t[l] = a[at[0] + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  MORE
  if (i < n) b[i] = t[7 - l];
}
"""


def test_a_light_kernel_checks_only_what_sizes_do_not_prove() -> None:
    kernel = plan(GATHER.replace("INDEX", "int").replace("MORE", "")).kernels[0]
    assert kernel.proof == []  # the index comes from memory
    assert kernel.light is not None
    assert not any(one.startswith(("w:", "v:", "l:")) for one in kernel.light.extra)  # nothing is shared
    assert {"L0 8 le", "8 L0 le", "d1"} <= set(kernel.light.proof)
    assert {"v:0:4", "w:1:4", "v:2:4"} <= set(kernel.extra)  # what is only read needs no shadow


@pytest.mark.parametrize(
    ("index", "more", "array", "buffer"),
    [
        ("uchar", "", True, True),  # two work-items can have the same number
        ("int", "if (i == 3) return;", True, False),  # not everybody comes to the barrier
        ("int", "t[l / 2] = 0; barrier(CLK_LOCAL_MEM_FENCE);", True, False),
        ("int", "b[0] = 1;", False, True),
        ("int", "{ int i = 5; b[i] = 1; }", False, True),
        ("int", "__global float *p = b + 1; p[i] = 1;", False, True),
        ("int", "__local float *p = t + 1; out(p, l);", True, False),
    ],
)
def test_what_work_items_may_share_is_followed(index: str, more: str, array: bool, buffer: bool) -> None:
    source = "void out(__local float *p, int l) { p[l] = 1; }\n" + GATHER.replace("INDEX", index).replace("MORE", more)
    done = plan(source)
    light = done.kernels[0].light
    text = done.text.partition("gdx_light_k(")[2]
    assert (light is None or "gdx_clear(gdx_s" in text) or not array
    assert (light is None or "w:1:4" in light.extra) or not buffer


def test_a_kernel_that_is_called_like_a_function_gets_a_copy() -> None:
    source = (
        "__kernel __attribute__((reqd_work_group_size(8, 1, 1)))\nvoid inner(__global int *a,\n  int n) {\n  a[n] = 2;\n}\n"
        "__kernel void outer(__global int *a) {\n  inner(a, 3);\n}\n"
    )
    done = plan(source)
    Tree(done.text, 120, 64, [])
    assert [plan.name for plan in done.kernels] == ["inner", "outer"]
    assert done.kernels[1].checked == 1 and "w:0:4" in done.kernels[1].extra  # the copy writes what outer was given
    assert {(site.line, site.kernel) for site in done.sites} == {(4, "inner")}


VIEW = "typedef struct { int n; __global float *p; } V;\ntypedef union { ulong n; __global float *p; } U;\n"


@pytest.mark.parametrize(
    ("helper", "body"),
    [
        ("", "V v; v.p = a; v.p[3] = 1;"),
        ("", "V v = { 4, a + 2 }; v.p[3] = 1;"),
        ("", "V v = { 0 }; v.p = a; v.p += 2; *v.p++ = 1;"),
        ("", "V v; v.p = a; V w = v; w.p[3] = 1;"),
        ("", "V v; v.p = n ? a : b; *v.p++ = 1;"),
        ("void f(V v) { v.p[3] = 1; }", "V v = { 4, a }; f(v); f((V){ 4, b });"),
        ("void f(const V *v) { v->p[3] = 1; }", "V v = { 4, a }; f(&v);"),
        ("void g(const V *v) { v->p[3] = 1; }\nvoid f(const V *v) { g(v); }", "V v = { 4, a }; f(&v);"),
        ("__global float *f(V v) { return v.p; }", "V v = { 4, a }; f(v)[3] = 1;"),
    ],
)
def test_pointers_in_structs_are_followed(helper: str, body: str) -> None:
    source = f"{VIEW}{helper}\n__kernel void k(__global float *a, __global float *b, int n) {{ {body} }}\n"
    for checks in (USUAL, frozenset({"bounds"})):
        done = plan(source, checks)
        Tree(done.text, 120, 64, [])
        assert done.kernels[0].unchecked == 0 and "gdx_any())" not in done.text.rpartition("k(")[2]


@pytest.mark.parametrize(
    ("helper", "body"),
    [
        ("", "g[0].p[3] = 1;"),  # a pointer from memory
        ("", "U u; u.p = a; u.n += 4; u.p[3] = 1;"),
        ("", "V v; v.p = a; __global float **q = &v.p; *q = b; v.p[3] = 1;"),
        ("", "V v; V *w = &v; w->p = b; v.p[3] = 1;"),
        ("void f(V *v, __global float *b) { v->p = b; }", "V v; v.p = a; f(&v, b); v.p[3] = 1;"),
        ("void f(V *v) { V w = { 1, 0 }; *v = w; }", "V v; v.p = a; f(&v); v.p[3] = 1;"),
    ],
)
def test_pointers_in_structs_that_can_change_unseen_are_counted_as_unchecked(helper: str, body: str) -> None:
    source = f"{VIEW}{helper}\n__kernel void k(__global float *a, __global float *b, __global V *g) {{ {body} }}\n"
    done = plan(source)
    Tree(done.text, 120, 64, [])
    assert done.kernels[0].unchecked > 0


def test_a_field_of_what_a_function_returns_is_no_access() -> None:
    helper = "typedef struct { float re, im; } C;\nC twice(C c) { c.re *= 2; return c; }\n"
    done = plan(helper + "__kernel void k(__global C *a) { a[0].re = twice(a[1]).im + (twice(a[2])).re; }\n")
    Tree(done.text, 120, 64, [])
    assert (done.kernels[0].checked, done.kernels[0].unchecked) == (3, 0)


def test_a_pointer_that_moves_is_checked_against_all_of_its_origins() -> None:
    done = plan("__kernel void k(__global int *a, __global int *b, int n) { __global int *p = n ? a : b; *p++ = 1; atomic_inc(p++); }\n")
    Tree(done.text, 120, 64, [])
    assert done.kernels[0].unchecked == 0 and done.text.count("gdx_pick(gdx->at") == 2


def test_what_a_constant_loop_proves_is_not_checked() -> None:
    done = plan(
        "__kernel void k(__global int *o) { int v[8]; for (int i = 0; i < 8; i++) v[i] = i; o[0] = v[7]; }\n",
        frozenset({"bounds"}),
    )
    assert [site.text for site in done.sites] == ["o[0]"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("__kernel void k(__global int *a) { a[0] = ; }\n", "libclang says"),
        ("__kernel void k(__global int *a) { {{{ }\n", "libclang says"),
        (
            "__kernel void j(__global int *a) { __local int t; t = a[0]; }\n__kernel void k(__global int *a) { j(a); }\n",
            "libclang says",
        ),
        ("__kernel void gdx_k(__global int *a) { a[0] = 1; }\n", "gdx_"),
        ("__kernel void k(__global int *a) { int gdx = 1; a[0] = gdx; }\n", "gdx_"),
        ("__kernel void k(__global int *a) { vendor_builtin(a); }\n", "libclang says"),
        (CL3 + "__global int last[4];\n__kernel void k(__global int *a) { a[0] = last[1]++; }\n", "last keeps its value"),
        (CL3 + "int last;\n__kernel void k(__global int *a) { a[0] = last++; }\n", "last keeps its value"),
        (CL3 + "__global const int *at;\n__kernel void k(__global int *a) { a[0] = *at; }\n", "at keeps its value"),
        (CL3 + "__kernel void k(__global int *a) { static __global int calls; a[0] = calls++; }\n", "calls keeps its value"),
    ],
)
def test_reasons(source: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        plan(source, options="-cl-std=CL3.0" if source.startswith(CL3) else "")


def test_tables_of_the_program_are_checked() -> None:
    tables = "__global const int table[4] = { 1, 2, 3, 4 };\nconst int other[2] = { 1, 2 };\n"
    done = plan(tables + "__kernel void k(__global int *a) { a[0] = table[a[1]] + other[a[2]]; }\n", options="-cl-std=CL3.0")
    assert done.kernels[0].checked == 5 and done.kernels[0].unchecked == 0


def hostile() -> dict[str, str]:
    noise = random.Random(7)
    return {
        "empty": "",
        "unbalanced": "}" * 1000 + "{" * 1000,
        "a megabyte of comments": "/* x */" * 150_000 + GOOD,
        "a megabyte of digits": "int a = " + "1" * (1 << 20) + ";",
        "deep": "int a = " + "(" * 3000 + "1" + ")" * 3000 + ";\n" + GOOD,
        "lines": '#line 4294967295 "x"\n#line 1 "\\""\n' + GOOD,
        "utf-8": "__kernel void k(__global float *größe) { größe[0] = 1.0f; }\n",
        "not utf-8": GOOD.replace("i < n", "i < n /* \udcff\udcfe */"),
        "trigraphs": "??=define A 1\n" + GOOD,
        "digraphs": "__kernel void k(__global int *a) <% a<:0:> = 1; %>\n",
        "noise": "".join(noise.choice(string.printable) for _ in range(20_000)),
        "macro bomb": "".join(f"#define M{n} M{n + 1} M{n + 1}\n" for n in range(64)) + "M0\n",
        "unfinished": '__kernel void k(__global char *a) { a[0] = "',
        "backslash": GOOD + "\\",
    }


@pytest.mark.parametrize("name", list(hostile()))
@pytest.mark.timeout(60)
def test_hostile_sources_end_in_opencl_c_or_a_reason(name: str) -> None:
    try:
        text = plan(hostile()[name]).text
    except (Unsupported, RecursionError):
        return
    Tree(text, 120, 64, [])


def test_kernels_with_a_lock_order_accesses_themselves() -> None:
    lock = "while (atomic_cmpxchg(l, 0, 1) != 0) ; a[0] += 1; atomic_xchg(l, 0);"
    kernel = "__kernel void k(volatile __global int *l, __global int *a) {{ {} }}\n"
    assert "#define GDX_RACES" not in plan(kernel.format(lock)).text
    assert "#define GDX_RACES" in plan(kernel.format("atomic_xchg(l, 1); a[0] += 1;")).text
    assert "#define GDX_RACES" not in plan(kernel.format("int me = 3; while (atomic_cmpxchg(l, me, me + 1) != me) ;")).text  # its turn
    for update in (
        "int old = l[0], seen; do { seen = old; old = atomic_cmpxchg(l, seen, seen + 2); } while (old != seen);",
        "for (;;) { int seen = l[0]; if (atomic_cmpxchg(l, seen, seen + 2) == seen) break; }",
    ):
        assert "#define GDX_RACES" in plan(kernel.format(update)).text


def test_private_arrays_are_measured_from_the_source() -> None:
    source = "__kernel void k(__global int *o) { int t[N]; char c[3]; __local int l[64]; t[0] = c[0] = l[0] = 1; o[0] = t[0]; }\n"
    arrays = of_kernel(source, "-DN=100", "k")
    assert arrays is not None and (arrays.bytes, arrays.largest, arrays.largest_bytes) == (403, "t", 400)
    assert of_kernel(source, "-DN=100", "other") is None
    assert of_kernel("__kernel void k( {", "", "k") is None


def test_arrays_that_casts_can_widen_keep_a_common_alignment() -> None:
    body = "__local float t[20]; __local int n[2]; float4 v[2]; t[0] = n[0] = 1; v[0] = 0; o[0] = t[0];"
    source = f"__kernel void k(__global float *o) {{ {body} }}"
    text = rewrite(source, "", Device()).rewritten.text
    assert "__attribute__((aligned(16))) __local float t[20]" in text
    assert "aligned(16))) __local int n" not in text and "aligned(16))) float4" not in text
