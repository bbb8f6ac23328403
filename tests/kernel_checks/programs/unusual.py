"""Correct kernels of unusual kinds; prints their results."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

UNION = """
typedef union { uint word; uchar byte[4]; struct { ushort low, high; } pair; } Any;
__kernel void swap_ends(__global Any *a) {
  __global Any *p = a + get_global_id(0);
  Any copy = *p;
  for (int i = 0; i < 4; i++) p->byte[i] = copy.byte[3 - i];
  p->pair.low ^= p->pair.high;
}
"""
WALK = """
__kernel void walk(__global const int *restrict in, __global int *restrict out, int n) {
  __global const int *p = in + get_global_id(0), *const end = in + n;
  int s = 0, step = get_global_size(0);
  while (p < end) { s += *p; p += step; }
  __global int *q = out + n;
  q -= 1 + get_global_id(0);
  *q = s; q[-n + 1 + 2 * (int)get_global_id(0)] += 0;
}
"""
PAIRS = """
__kernel void exchange(__global int *data) {
  __local int t[16];
  int lid = get_local_id(0);
  t[lid] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid % 2 == 0) { int x = t[lid]; t[lid] = t[lid ^ 1]; t[lid ^ 1] = x; }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = t[lid];
}
"""
PARTS = """
__kernel void move(__global float4 *p, __global float4 *v, float step) {
  int i = get_global_id(0);
  p[i].xyz += v[i].xyz * step;
  v[i].lo = p[i].hi;
}
"""
SWAP = """
__kernel void scan(__global int *data, __local int *a, __local int *b) {
  int lid = get_local_id(0), n = get_local_size(0);
  __local int *from = a, *to = b;
  from[lid] = data[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < n; d <<= 1) {
    to[lid] = from[lid] + (lid >= d ? from[lid - d] : 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    __local int *t = from; from = to; to = t;
  }
  data[lid] = from[lid];
}
"""
TABLES = """
typedef struct { float k[3]; int shift; } Filter;
__constant Filter filters[2] = { { { 0.25f, 0.5f, 0.25f }, 1 }, { { -1.0f, 0.0f, 1.0f }, 1 } };
__constant int order[] = { 2, 0, 1 };
__constant float *first(__constant Filter *f) { return f->k; }
__kernel void filter_rows(__global const float *in, __global float *out, int which, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int t = 0; t < 3; t++) {
    int at = clamp(i + order[t] - filters[which].shift, 0, n - 1);
    s += in[at] * first(&filters[which])[order[t]];
  }
  out[i] = s;
}
"""
MACROS = """
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define EVAL(...) EVAL1(EVAL1(__VA_ARGS__))
#define EVAL1(...) __VA_ARGS__
#define STEP(i) x[(i)] = x[(i)] * 2 + i;
#define STEPS2(i) STEP(i) STEP(i + 1)
#define STEPS4(i) STEPS2(i) STEPS2(i + 2)
#define STEPS(n) CAT(STEPS, n)
#define f(x) f(x + 1)
#define DO(body) do { body } while (0)
int (f)(int v) { return v * 3; }
__kernel void expand(__global int *x) {
  x += 4 * get_global_id(0);
  DO(EVAL(STEPS(4)(0)););
  x[3] = f(x[3]), x[2] += 1;
}
"""
IMAGES = """
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void blur(__read_only image2d_t in, __write_only image2d_t out, __global float *sums) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float4 s = 0;
  for (int d = -3; d <= 3; d++) s += read_imagef(in, nearest, at + (int2)(d, 0));
  write_imagef(out, at, s / 7);
  sums[at.y * get_global_size(0) + at.x] = s.x;
}
"""
BRANCHES = """
__kernel void fold(__global const float *c, __global float *part, __local float *t) {
  uint l = get_local_id(0), many = get_local_size(0);
  t[l] = c[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_group_id(0) % 2 == 0) {
    if (l < 8)
      for (uint j = l + 8; j < many; j += 8) t[l] += t[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
      float all = 0.0f;
      for (int j = 0; j < 8; j++) all += t[j];
      part[get_group_id(0)] = all;
    }
  } else {
    for (uint h = many / 2; h > 1; h >>= 1) {
      if (l < h) t[l] += t[l + h];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) part[get_group_id(0)] = t[0] + t[1];
  }
}
"""
SUB_GROUPS = """
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel void reduce(__global const int *in, __global int *out) {
  __local int room[16];
  int me = get_local_id(0), last = get_max_sub_group_size() - 1;
  room[me] = in[get_global_id(0)];
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  int s = sub_group_reduce_add(room[me ^ (last & 1)]);
  int one = sub_group_broadcast(s, 0);
  if (get_sub_group_local_id() == 0) atomic_add(out, one);
}
"""
GENERIC = """
int total(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
__kernel void both(__global int *a) {
  int mine[4] = { 1, 2, 3, (int)get_global_id(0) };
  int *p = get_global_id(0) & 1 ? (int *)mine : (int *)(a + 8);
  a[get_global_id(0)] = total(p, 4) + work_group_reduce_add((int)get_local_id(0));
}
"""


def main() -> None:
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR

    def run(
        source: str, name: str, shape: tuple[int, ...], local: tuple[int, ...] | None, *given: object, options: str = ""
    ) -> None:
        kernel = getattr(cl.Program(context, source).build([options] if options else []), name)
        arrays = [one for one in given if isinstance(one, np.ndarray)]
        buffers = {id(one): cl.Buffer(context, flags, hostbuf=one) for one in arrays}
        kernel(queue, shape, local, *(buffers.get(id(one), one) for one in given))
        for one in arrays:
            cl.enqueue_copy(queue, one, buffers[id(one)])
            print(name, one.ravel().tolist())

    numbers = np.arange(64, dtype=np.int32)
    run(UNION, "swap_ends", (8,), None, numbers[:8] * 0x01020304)
    run(WALK, "walk", (7,), None, numbers.copy(), np.zeros(64, np.int32), np.int32(64))
    run(SWAP, "scan", (32,), (32,), numbers[:32].copy(), cl.LocalMemory(128), cl.LocalMemory(128))
    run(PAIRS, "exchange", (32,), (16,), numbers[:32].copy())
    run(PARTS, "move", (4,), None, np.ones(16, np.float32), np.ones(16, np.float32), np.float32(0.5))
    row = np.linspace(0, 1, 16).astype(np.float32)
    run(TABLES, "filter_rows", (16,), None, row, np.zeros(16, np.float32), np.int32(1), np.int32(16))
    run(MACROS, "expand", (4,), None, numbers[:16].copy())
    shape = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    pixels = np.ones((8, 8, 4), np.float32)
    images = [cl.create_image(context, flags, shape, (8, 8), hostbuf=pixels) for _ in range(2)]
    run(IMAGES, "blur", (8, 8), None, *images, np.zeros(64, np.float32))
    run(BRANCHES, "fold", (256,), (64,), numbers.repeat(4).astype(np.float32), np.zeros(4, np.float32), cl.LocalMemory(256))
    features = {one.name.rstrip("\0") for one in device.opencl_c_features} if "OpenCL 3" in device.version else set()
    if "__opencl_c_subgroups" in features:
        run(SUB_GROUPS, "reduce", (64,), (16,), numbers.copy(), np.zeros(1, np.int32), options="-cl-std=CL3.0")
    if {"__opencl_c_generic_address_space", "__opencl_c_work_group_collective_functions"} <= features:
        run(GENERIC, "both", (8,), (4,), numbers[:16].copy(), options="-cl-std=CL3.0")


if __name__ == "__main__":
    main()
