"""Runs kernels as they are and renumbered, for several versions of the language, and prints which results differ."""

import sys
import warnings

import numpy as np
import pyopencl as cl

from gpudx.kernel_checks.opposite_order import opposite
from gpudx.kernel_checks.suspects import edited

SOURCE = """
#define TILE 8
#define ID get_global_id
int local_id(int d) { return (int)get_local_id(d); }
__kernel void reduce(__global const int *in, __global int *out, __local int *s) {
    int l = get_local_id(0);
    s[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size; half_size /= 2) {
        if (l < half_size) s[l] += s[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!l) out[get_group_id(0)] = s[0];
}
__kernel void scan(__global const int *in, __global int *out, __local int *s) {
    int l = get_local_id(0), n = get_local_size(0);
    s[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < n; d *= 2) {
        int before = l >= d ? s[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        s[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_group_id(0) * n + l] = s[l];
}
__kernel void copies(__global const int *in, __global int *out, __local int *s) {
    int n = get_local_size(0), l = get_local_id(0);
    event_t e = async_work_group_copy(s, in + get_group_id(0) * n, n, 0);
    wait_group_events(1, &e);
    int other = s[n - 1 - l] * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] = other;
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(out + get_group_id(0) * n, s, n, 0);
    wait_group_events(1, &e);
}
__kernel void gemm(__global const float *a, __global const float *b, __global float *c, int n) {
    __local float p[TILE][TILE], q[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1), i = get_group_id(1) * TILE + y, j = get_group_id(0) * TILE + x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        p[y][x] = a[i * n + t + x];
        q[y][x] = b[(t + y) * n + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += p[y][k] * q[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[i * n + j] = sum;
}
__kernel void transpose(__global const int *in, __global int *out, int n) {
    __local int t[TILE][TILE + 1];
    t[local_id(1)][local_id(0)] = in[ID(1) * n + ID(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(get_group_id(0) * TILE + local_id(1)) * n + get_group_id(1) * TILE + local_id(0)] = t[local_id(0)][local_id(1)];
}
__kernel void numbers(__global int *out, int width, int height) {
    size_t x = ID(0), y = ID(1), z = ID(2);
    out[(z * height + y) * width + x] = x + 10 * y + 100 * z + 1000 * local_id(1) + 10000 * get_group_id(2) + 100000 * __LINE__;
}
__kernel void blur(__read_only image2d_t in, __write_only image2d_t out, sampler_t s) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0;
    for (int d = -1; d < 2; d++) sum += read_imagef(in, s, p + (int2)(d, 0)) + read_imagef(in, s, p + (int2)(0, d));
    write_imagef(out, p, sum / 6);
}
__kernel void first(__global int *out) { atomic_cmpxchg(out, 0, (int)get_global_id(0) + 1); }
#ifdef LINEAR
__kernel void linear(__global int *out) { out[get_global_linear_id()] = (int)get_local_linear_id() + 1000 * (int)get_global_id(0); }
#endif
"""
STANDARDS = {"": False, "-cl-std=CL1.1": False, "-cl-std=CL2.0 -DLINEAR": True, "-cl-std=CL3.0 -DLINEAR": True}
INTS, SIDE, ITEMS, GROUP = np.int32, 64, 4096, 64
warnings.simplefilter("ignore")


def results(context: cl.Context, source: str, options: str, linear: bool) -> dict[str, np.ndarray]:
    queue, program = cl.CommandQueue(context), cl.Program(context, source).build(options)
    random, flags, found = np.random.default_rng(1), cl.mem_flags, {}
    data, reals = random.integers(0, 1000, ITEMS).astype(INTS), random.random((SIDE, SIDE)).astype(np.float32)

    def run(
        name: str, items: tuple, group: tuple, like: np.ndarray, before: tuple = (), after: tuple = (), offset: tuple | None = None
    ) -> None:
        out = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.zeros_like(like))
        given = [cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=one) for one in before]
        getattr(program, name)(queue, items, group, *given, out, *after, global_offset=offset)
        cl.enqueue_copy(queue, found.setdefault(name, np.empty_like(like)), out)

    for name in ("reduce", "scan", "copies"):
        run(name, (ITEMS,), (GROUP,), data, (data,), (cl.LocalMemory(4 * GROUP),))
    run("gemm", (SIDE, SIDE), (8, 8), reals, (reals, reals.T.copy()), (INTS(SIDE),))
    run("transpose", (SIDE, SIDE), (8, 8), data, (data,), (INTS(SIDE),))
    run("numbers", (16, 12, 8), (4, 3, 2), np.zeros((20, 40, 60), INTS), (), (INTS(60), INTS(40)), (5, 7, 3))
    run("first", (GROUP,), (GROUP,), np.zeros(1, INTS))
    if linear:
        run("linear", (16, 12, 8), (4, 3, 2), np.zeros((8, 12, 16), INTS), offset=(5, 7, 3))
    picture = random.random((32, 48, 4)).astype(np.float32)
    pixels = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    image = cl.Image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, pixels, shape=(48, 32), hostbuf=picture)
    blurred = cl.Image(context, flags.WRITE_ONLY, pixels, shape=(48, 32))
    sampler = cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    program.blur(queue, (48, 32), (16, 8), image, blurred, sampler)
    cl.enqueue_copy(queue, found.setdefault("blur", np.empty_like(picture)), blurred, origin=(0, 0), region=(48, 32))
    return found


def main() -> None:
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    for options, linear in STANDARDS.items():
        change = opposite(SOURCE, options, ("reduce", "gemm"), even=True)
        if isinstance(change, str):
            sys.exit(change)
        as_they_are = results(context, SOURCE, options, linear)
        reversed_ = results(context, edited(SOURCE, change.edits), options, linear)
        differ = [name for name, found in as_they_are.items() if not np.array_equal(found, reversed_[name])]
        print(options, len(as_they_are), *differ, int(as_they_are["first"][0]), int(reversed_["first"][0]))


main()
