"""A program with one launch to capture: opencl_programs.py NAME, or `list`. Every kernel of KERNELS ends and prints a hash of its results;
those of FAULTS have the fault that their comment names. `library_...` are operations of PyOpenCL: the kernels are PyOpenCL's own."""

# ruff: noqa: E501, UP031  (kernels stand in one line)
from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N = 1 << 16


@dataclass(frozen=True)
class One:
    """`arguments`: f (floats), d, i, u (of N elements, i: below N), z (floats, zero), a number: an int, L: bytes of local memory, or
    bytes of a struct. `size`: of the launch."""

    source: str
    arguments: tuple[Any, ...]
    size: tuple[int, ...] = (N,)
    local: tuple[int, ...] | None = None
    offset: tuple[int, ...] | None = None
    options: tuple[str, ...] = ()


GID = "int i = get_global_id(0);"
STRUCT = "typedef struct { float a; int n; float4 v; } P;"
KERNELS: dict[str, One] = {
    "saxpy": One("kernel void saxpy(global float *y, global const float *x, float a) { %s y[i] += a * x[i]; }" % GID, ("f", "f", 2.5)),
    "stencil": One("kernel void stencil(global float *o, global const float *x, int n) { %s if (i > 0 && i < n - 1) o[i] = (x[i-1] + x[i] + x[i+1]) / 3; }" % GID, ("z", "f", N)),
    "reduce": One(
        "kernel void reduce(global float *o, global const float *x, local float *t) { int l = get_local_id(0); t[l] = x[get_global_id(0)];"
        " for (int s = get_local_size(0) / 2; s; s /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (l < s) t[l] += t[l + s]; }"
        " if (!l) o[get_group_id(0)] = t[0]; }", ("z", "f", "L256"), (N,), (64,)),
    "histogram": One("kernel void histogram(global int *h, global const int *k) { atomic_inc(h + (k[get_global_id(0)] & 255)); }", ("z", "i")),
    "local_histogram": One(
        "kernel void local_histogram(global uint *h, global const uint *k) { local uint t[64]; int l = get_local_id(0); t[l] = 0;"
        " barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(t + (k[get_global_id(0)] & 63)); barrier(CLK_LOCAL_MEM_FENCE); atomic_add(h + l, t[l]); }",
        ("z", "u"), (N,), (64,)),
    "gather": One("kernel void gather(global float *o, global const float *x, global const int *at) { %s o[i] = x[at[i]]; }" % GID, ("z", "f", "i")),
    "by_value": One("%s kernel void by_value(global float4 *o, P p) { %s if (i < p.n) o[i] = p.v * p.a + i; }" % (STRUCT, GID),
                    ("z", np.array([2.5, 0, 0, 0, 1, 2, 3, 4], "f4").tobytes()[:4] + np.int32(999).tobytes() + bytes(8) + np.arange(4, dtype="f4").tobytes()), (1024,)),
    "transpose": One(
        "kernel void transpose(global float *o, global const float *x) { local float t[16][17]; int a = get_local_id(0), b = get_local_id(1);"
        " t[b][a] = x[get_global_id(1) * 256 + get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);"
        " o[(get_group_id(0) * 16 + b) * 256 + get_group_id(1) * 16 + a] = t[a][b]; }", ("z", "f"), (256, 256), (16, 16)),
    "matmul": One("kernel void matmul(global float *c, global const float *a, global const float *b, int n) { int x = get_global_id(0), y = get_global_id(1);"
                  " float s = 0; for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x]; c[y * n + x] = s; }", ("z", "f", "f", 128), (128, 128)),
    "doubles": One("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void doubles(global double *o, global const double *x) { %s o[i] = sqrt(fabs(x[i])); }" % GID, ("d", "d")),
    "vectors": One("kernel void vectors(global float4 *o, global const float4 *x) { %s o[i] = x[i].wzyx * 2 + o[i]; }" % GID, ("f", "f"), (N // 4,)),
    "halves": One("kernel void halves(global half *o, global const float *x) { %s vstore_half(x[i], i, o); }" % GID, ("z", "f")),
    "constants": One("constant float w[4] = {1, 2, 4, 8}; kernel void constants(global float *o, constant float *x) { %s o[i] = w[i & 3] * x[i & 255]; }" % GID, ("z", "f")),
    "volume": One("kernel void volume(global float *o, int n) { int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); o[(z * 32 + y) * 64 + x] = x + y * n + z; }",
                  ("z", 100), (64, 32, 16), (8, 4, 4)),
    "shifted": One("kernel void shifted(global float *o) { %s o[i] = i; }" % GID, ("z",), (100,), None, (50,)),
    "options": One("kernel void options(global int *o) { %s o[i] = i * SCALE; }" % GID, ("z",), options=("-DSCALE=7", "-cl-fast-relaxed-math")),
    "longs": One("kernel void longs(global long *o, global const int *x) { %s o[i] = (long)x[i] * x[i]; }" % GID, ("d", "i")),
    "bytes": One("kernel void bytes(global uchar *o, global const uchar *x) { %s o[i] = x[i] ^ 0x55; }" % GID, ("z", "u")),
    "collatz": One("kernel void collatz(global int *o) { uint n = get_global_id(0) + 1; int s = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; s++; } o[get_global_id(0)] = s; }", ("z",)),
    "mandelbrot": One("kernel void mandelbrot(global int *o) { int x = get_global_id(0), y = get_global_id(1); float a = 0, b = 0, c = x / 64.0f - 2, d = y / 64.0f - 2; int k = 0;"
                      " while (k < 64 && a * a + b * b < 4) { float t = a * a - b * b + c; b = 2 * a * b + d; a = t; k++; } o[y * 256 + x] = k; }", ("z",), (256, 256)),
    "xorshift": One("kernel void xorshift(global uint *s) { %s uint v = s[i]; for (int k = 0; k < 50; k++) { v ^= v << 13; v ^= v >> 17; v ^= v << 5; } s[i] = v; }" % GID, ("u",)),
    "spmv": One("kernel void spmv(global float *y, global const int *col, global const float *v, global const float *x) { %s float s = 0; for (int k = 0; k < 8; k++) s += v[i * 8 + k] * x[col[i * 8 + k]]; y[i] = s; }" % GID,
                ("z", "i", "f", "f"), (N // 8,)),
    "helper": One("float f(float a) { return a * a + 1; } kernel void helper(global float *o, global const float *x) { %s o[i] = f(x[i]) + f(o[i]); }" % GID, ("f", "f")),
    "maximum": One("kernel void maximum(global int *m, global const int *x) { atomic_max(m, x[get_global_id(0)]); }", ("z", "i")),
    "copied": One("kernel void copied(global float *o, global const float *x, local float *t) { event_t e = async_work_group_copy(t, x + get_group_id(0) * 64, 64, 0);"
                  " wait_group_events(1, &e); o[get_global_id(0)] = t[63 - get_local_id(0)]; }", ("z", "f", "L256"), (N,), (64,)),
}  # fmt: skip


def f_kernel(name: str, text: str) -> str:
    return f"kernel void {name}({text}"


TAIL = "global float *o, global const float *x, int n) { int i = get_global_id(0); "
MORE = N + 64
FAULTS: dict[str, One] = {
    "no_guard": One(f_kernel("no_guard", TAIL + "o[i] = x[min(i, n - 1)]; }"), ("z", "f", N), (MORE,)),  # writes past the end
    "one_too_many": One(f_kernel("one_too_many", TAIL + "if (i <= n) o[i] = x[min(i, n - 1)] * 2; }"), ("z", "f", N), (MORE,)),
    "reads_next": One(f_kernel("reads_next", TAIL + "if (i < n) o[i] = x[i + 1] - x[i]; }"), ("z", "f", N)),
    "reads_before": One(f_kernel("reads_before", TAIL + "if (i < n) o[i] = x[i - 1]; }"), ("z", "f", N)),
    "far_write": One(f_kernel("far_write", TAIL + "if (i == 777) o[i + n] = 1; o[i] = x[i]; }"), ("z", "f", N)),
    "wrong_row": One(f_kernel("wrong_row", "global float *o, global const float *x, int w, int h) { int a = get_global_id(0), b = get_global_id(1); o[b * w + a] = x[a * w + b]; }"),
                     ("z", "f", 512, 128), (512, 128)),
    "bad_index": One(f_kernel("bad_index", "global float *o, global const float *x, global const int *at) { int i = get_global_id(0); o[i] = x[at[i] + 3]; }"), ("z", "f", "i")),
    "loop_over": One(f_kernel("loop_over", "global float *o, global const float *x, int n) { int i = get_global_id(0); float s = 0; for (int k = 0; k <= 16; k++) s += x[i * 16 + k]; o[i] = s; }"), ("z", "f", N), (N // 16,)),
    "vector_past": One(f_kernel("vector_past", "global float4 *o, global const float4 *x, int n) { int i = get_global_id(0); if (i <= n / 4) o[i] = x[min(i, n / 4 - 1)]; }"), ("z", "f", N), (N // 4 + 64,)),
    "local_past": One(f_kernel("local_past", "global float *o, global const float *x, local float *t) { int l = get_local_id(0), i = get_global_id(0); t[l + 1] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); o[i] = t[l + 1]; }"), ("z", "f", "L256"), (N,), (64,)),
    "private_past": One(f_kernel("private_past", "global float *o, global const float *x, int n) { int i = get_global_id(0); float t[4]; for (int k = 0; k < 4; k++) t[k] = x[i]; o[i] = t[(i & 3) + (i == n / 2)  * 4]; }"), ("z", "f", N)),
    "race": One(f_kernel("race", "global float *o, global const float *x) { int i = get_global_id(0); o[i / 2] = x[i]; }"), ("z", "f")),
    "no_barrier": One(f_kernel("no_barrier", "global float *o, global const float *x, local float *t) { int l = get_local_id(0), i = get_global_id(0); t[l] = x[i]; o[i] = t[63 - l]; }"), ("z", "f", "L256"), (N,), (64,)),
    "not_atomic": One(f_kernel("not_atomic", "global int *h, global const int *k) { h[k[get_global_id(0)] & 255] += 1; }"), ("z", "i")),
    "uninit_local": One(f_kernel("uninit_local", "global float *o, global const float *x, local float *t) { int l = get_local_id(0), i = get_global_id(0); if (l & 1) t[l] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); o[i] = t[l]; }"), ("z", "f", "L256"), (N,), (64,)),
    "divides": One(f_kernel("divides", "global int *o, global const int *x, global const int *y) { int i = get_global_id(0); o[i] = x[i] / (y[i] % 100 - 50); }"), ("z", "i", "i")),
    "barrier_apart": One(f_kernel("barrier_apart", "global float *o, global const float *x, local float *t) { int l = get_local_id(0), i = get_global_id(0); t[l] = x[i]; if (l < 32) barrier(CLK_LOCAL_MEM_FENCE); o[i] = t[l]; }"), ("z", "f", "L256"), (N,), (64,)),
    "misaligned": One(f_kernel("misaligned", "global char *o, global const float *x) { int i = get_global_id(0); *(global float *)(o + i * 4 + (i == 4097)) = x[i]; }"), ("f", "f"), (N // 2,)),
    "makes_nan": One(f_kernel("makes_nan", TAIL + "o[i] = sqrt(x[i] - 1.0f); }"), ("z", "f", N)),
    "makes_inf": One(f_kernel("makes_inf", TAIL + "o[i] = 1.0f / (x[i] - x[77]); }"), ("z", "f", N)),
}  # fmt: skip


def _array(cl: Any, queue: Any, kind: str) -> Any:
    from pyopencl import array

    made = {"f": "f4", "d": "f8", "i": "i4", "u": "u4", "z": "f4"}[kind]
    data = np.zeros(N, made) if kind == "z" else (np.arange(N, dtype="u8") * 7919 % N).astype(made)
    if kind in "fd":
        data = (data % 1000 / 7).astype(made)
    return array.to_device(queue, data)


def _run(cl: Any, context: Any, queue: Any, name: str, one: One) -> list[Any]:
    kernel = getattr(cl.Program(context, one.source).build(options=list(one.options)), name)
    kept, given = [], []
    for text in one.arguments:
        if isinstance(text, bytes):
            given.append(text)
        elif isinstance(text, int | float):
            given.append(np.float32(text) if isinstance(text, float) else np.int32(text))
        elif text[0] == "L":
            given.append(cl.LocalMemory(int(text[1:])))
        else:
            kept.append(_array(cl, queue, text))
            given.append(kept[-1].data)
    kernel(queue, one.size, one.local, *given, global_offset=one.offset)
    queue.finish()
    return kept


LIBRARY: dict[str, tuple[str, Callable[..., list[Any]]]] = {
    "library_axpbyz": ("axpbyz", lambda cl, c, q: [_array(cl, q, "f") + _array(cl, q, "f")]),
    "library_multiply": ("multiply", lambda cl, c, q: [_array(cl, q, "f") * _array(cl, q, "f")]),
    "library_sin": ("sin_kernel", lambda cl, c, q: [cl.clmath.sin(_array(cl, q, "f"))]),
    "library_power": ("pow_method", lambda cl, c, q: [_array(cl, q, "f") ** 2.0]),
    "library_positive": (
        "if_positive",
        lambda cl, c, q: [cl.array.if_positive(_array(cl, q, "f"), _array(cl, q, "f"), _array(cl, q, "z"))],
    ),
    "library_maximum": ("maximum", lambda cl, c, q: [cl.array.maximum(_array(cl, q, "f"), _array(cl, q, "z"))]),
    "library_taken": ("take", lambda cl, c, q: [cl.array.take(_array(cl, q, "f"), _array(cl, q, "i"))]),
}


def main(name: str) -> None:
    import pyopencl as cl
    import pyopencl.array
    import pyopencl.clmath

    devices = [one for platform in cl.get_platforms() for one in platform.get_devices()]
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    if name in LIBRARY:
        found = LIBRARY[name][1](cl, context, queue)
    else:
        found = _run(cl, context, queue, name, {**KERNELS, **FAULTS}[name])
    print(name, *(hashlib.sha1(np.asarray(one.get()).tobytes()).hexdigest()[:12] for one in found))


if __name__ == "__main__":
    main(sys.argv[1])
