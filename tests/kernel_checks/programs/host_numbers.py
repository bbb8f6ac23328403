"""Numbers of the host that do not fit the kernel: a macro for tiles, image coordinates, a copy in elements; "right": their neighbours."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

TILES = """
#ifndef TS
#define TS 8
#endif
__kernel void tiles(__global const float *a, __global float *out, int n) {
  __local float tile[TS][TS + 1];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = a[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = 0; k < TS; k++) sum += tile[y][k];
  out[get_global_id(1) * n + get_global_id(0)] = sum;
}
"""
OTHERS = """
__kernel void turn(write_only image2d_t out) {
  int2 at = TURNED ? (int2)(get_global_id(1), get_global_id(0)) : (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, (float4)(1));
}
__kernel void twice(__global const float *in, __global float *out) { out[get_global_id(0)] = 2 * in[get_global_id(0)]; }
"""


PADDED = """
__kernel void rows(__global float *out) { out[get_global_id(1) * PITCH + get_global_id(0)] = get_global_id(0); }
"""


def bare() -> None:
    """A row has 64 elements and 2 more; the option says so without parentheses."""
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, PADDED).build(["-DPITCH=64+2"])
    made.rows(queue, (66, 32), (1, 1), cl.Buffer(context, cl.mem_flags.READ_WRITE, 66 * 32 * 4))
    queue.finish()


TURN = """
__kernel void turn(__global const float *in, __global float *out, int n) {
  out[(get_group_id(0) * TILE + get_local_id(1)) * n + get_group_id(1) * TILE + get_local_id(0)] = in[0];
}
"""
PART = """
#ifndef PART
#define PART 64
#endif
__kernel void sums(__global float *out) {
  __local float part[PART];
  part[get_local_id(0)] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = part[PART - 1];
}
"""


def cached(how: str) -> None:
    """A program for groups of 16, then groups of 8: with that program, or with one for them. And an option of another name."""
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(64 * 64, np.float32))
    program = cl.Program(context, TURN).build(["-DTILE=16"])
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64 * 64 * 4)
    program.turn(queue, (64, 64), (16, 16), data, out, np.int32(64))
    other = cl.Program(context, TURN).build(["-DTILE=8"]) if how == "built" else program
    other.turn(queue, (64, 64), (8, 8), data, out, np.int32(64))
    sums = cl.Program(context, PART).build(["-DPART=128" if how == "built" else "-DPARTS=128"])
    sums.sums(queue, (256,), (128,), out)
    queue.finish()


def main(how: str) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    options = {"unused": ["-DTILE=16"], "other": ["-DTS=16"], "right": ["-DTS=16"]}[how]
    group = 8 if how == "other" else 16
    tiles = cl.Program(context, TILES).build(options)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    data = np.ones(64 * 64, np.float32)
    from_host = cl.Buffer(context, flags, hostbuf=data)
    tiles.tiles(queue, (64, 64), (group, group), from_host, cl.Buffer(context, flags, hostbuf=data), np.int32(64))
    others = cl.Program(context, OTHERS).build([f"-DTURNED={int(how != 'right')}"])
    picture = cl.Image(context, cl.mem_flags.WRITE_ONLY, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT), (48, 32))
    others.turn(queue, (48, 32), None, picture)
    larger = cl.Buffer(context, cl.mem_flags.READ_WRITE, 2 * data.nbytes)
    cl.enqueue_copy(queue, larger, from_host, byte_count=data.nbytes if how == "right" else data.size)
    others.twice(queue, (data.size,), None, larger, cl.Buffer(context, flags, hostbuf=data))
    queue.finish()


if sys.argv[1] in ("cached", "built"):
    cached(sys.argv[1])
else:
    bare() if sys.argv[1] == "bare" else main(sys.argv[1])
