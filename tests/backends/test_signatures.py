"""Kernel parameters from source: what is clear is read, what is not is not answered."""

from __future__ import annotations

import pytest

from gpudx.backends.opencl.signatures import CONST, CONSTANT, GLOBAL, LOCAL, PRIVATE, RESTRICT, Parameter, signature_of

IN, OUT = Parameter("float*", "in", GLOBAL, 4, CONST), Parameter("float*", "out", GLOBAL, 4, 0)
COUNT = Parameter("int", "n", PRIVATE, 4, 0)

CLEAR = {
    "kernel void f(global const float *in, global float *out, int n) { }": (IN, OUT, COUNT),
    "__kernel void f(__global const float* in, __global float* out, const int n);\n": (IN, OUT, COUNT),
    "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void f(const global float *in,\n global float out[], int n) {}": (
        IN,
        OUT,
        COUNT,
    ),
    "kernel __attribute__((vec_type_hint(float4)))\nvoid f(/* global int *x, */ global float const *in, // (\n"
    "global float *out, int n) { f2(1); }": (IN, OUT, COUNT),
    "#define T float\n#define G __global\nkernel void f(G const T *in, G T *out, int n) {}": (IN, OUT, COUNT),
    "#define KERNEL __kernel\nKERNEL void f(global const float *in, global float *out, \\\n int n) {}": (
        IN,
        OUT,
        COUNT,
    ),
    "kernel void f(local float *room, constant int *table, global float * restrict x) {}": (
        Parameter("float*", "room", LOCAL, 4, 0),
        Parameter("int*", "table", CONSTANT, 4, CONST),
        Parameter("float*", "x", GLOBAL, 4, RESTRICT),
    ),
    "kernel void f(unsigned int a, ulong b, float4 c, four_t d, struct s e, unsigned f) {}": (
        Parameter("uint", "a", PRIVATE, 4, 0),
        Parameter("ulong", "b", PRIVATE, 4, 0),
        Parameter("float4", "c", PRIVATE, 4, 0),
        Parameter("four_t", "d", PRIVATE, 4, 0),
        Parameter("struct s", "e", PRIVATE, 4, 0),
        Parameter("uint", "f", PRIVATE, 4, 0),
    ),
    "kernel void f(read_only image2d_t a, __write_only image2d_t b, image3d_t c, sampler_t s) {}": (
        Parameter("image2d_t", "a", GLOBAL, 1, 0),
        Parameter("image2d_t", "b", GLOBAL, 2, 0),
        Parameter("image3d_t", "c", GLOBAL, 1, 0),
        Parameter("sampler_t", "s", PRIVATE, 4, 0),
    ),
    "kernel void f(void) {}": (),
    "kernel void f() {}": (),
    "void f2(int n); kernel void f(int n); kernel void f(int n) { f2(n); }\nkernel void g(float x) { f(3); }": (COUNT,),
}
UNCLEAR = (
    "kernel void g(int n) {}",  # another kernel
    "void f(int n) {}",  # no kernel
    "#ifdef A\nkernel void f(int n) {}\n#else\nkernel void f(long n) {}\n#endif",
    "kernel void f(int n\n#ifdef MORE\n, int m\n#endif\n) {}",
    "#define ARGS(t) t *in\nkernel void f(ARGS(float), int n) {}",
    "kernel void f(GLOBAL float *in) {}",  # the address space comes from elsewhere
    "kernel void f(float *in) {}",
    "#define T float\n#undef T\n#define T double\nkernel void f(global T *in) {}",
    "kernel void f(MAKRO(x)) {}",
    "kernel void f(int) {}",
    "kernel void f(int n",
    "#define A B\n#define B A\nkernel void f(A n) {}",
    "kernel void f(pipe int p) {}",
    "kernel void f(global pointer_t p) {}",
)


@pytest.mark.parametrize("source", CLEAR)
def test_clear_declarations(source: str) -> None:
    assert signature_of(source, "f") == CLEAR[source]


@pytest.mark.parametrize("source", UNCLEAR)
def test_unclear_ones_have_no_answer(source: str) -> None:
    assert signature_of(source, "f") is None


def test_options_define_macros() -> None:
    source = "kernel void f(global T *x, V n) {}"
    expected = (Parameter("double*", "x", GLOBAL, 4, 0), Parameter("float4", "n", PRIVATE, 4, 0))
    assert signature_of(source, "f", "-cl-fast-relaxed-math -DT=double -D V=float4") == expected
    assert signature_of(source, "f", "-DT=double -DT=float") is None
    assert signature_of(source, "f", "-DT='") is None


def test_nothing_to_read() -> None:
    assert signature_of("", "f") is None
    assert signature_of("f" * (5 << 20), "f") is None
