"""Kernels launched in turn that take numbers of one name, of which one kernel keeps the first; with "right" it is set for each launch."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

BLOCKS, EACH, PASSES = 32, 64, 4
SOURCE = """
__kernel void count(__global const uint *key, __global uint *from, int shift) {
  int b = get_global_id(0), nb = get_global_size(0);
  for (int d = 0; d < 4; d++) from[d * nb + b] = 0;
  for (int i = 0; i < 64; i++) from[(key[b * 64 + i] >> shift & 3) * nb + b]++;
}
__kernel void sums(__global uint *from, int n) {
  uint sum = 0;
  for (int i = 0; i < n; i++) { uint t = from[i]; from[i] = sum; sum += t; }
}
__kernel void move(__global const uint *key, __global uint *to, __global const uint *from, int shift) {
  int b = get_global_id(0), nb = get_global_size(0);
  uint at[4];
  for (int d = 0; d < 4; d++) at[d] = from[d * nb + b];
  for (int i = 0; i < 64; i++) {
    uint k = key[b * 64 + i];
    uint place = at[k >> shift & 3]++;
    to[place] = k;
  }
}
__kernel void load(__global float *tile, int first) { tile[get_global_id(0)] = first + get_global_id(0); }
__kernel void blur(__global const float *tile, __global float *o, int first, int n) {
  int i = get_global_id(0);
  o[first + i] = tile[RIGHT && i >= n ? i - n : i + n];
}
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])
    flags = cl.mem_flags.READ_WRITE

    def kernel(name: str, *arguments: object) -> cl.Kernel:
        found = cl.Kernel(made, name)
        for index, one in enumerate(arguments):
            found.set_arg(index, np.int32(one) if isinstance(one, int) else one)
        return found

    keys = np.random.default_rng(7).integers(0, 1 << 8, BLOCKS * EACH, dtype=np.uint32)
    pair = [cl.Buffer(context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=keys) for _ in range(2)]
    where = cl.Buffer(context, flags, 4 * 4 * BLOCKS)
    count, sums, move = kernel("count", pair[0], where, 0), kernel("sums", where, 4 * BLOCKS), kernel("move", *pair, where, 0)
    for turn in range(PASSES):
        count.set_arg(0, pair[turn % 2])
        count.set_arg(2, np.int32(2 * turn))
        cl.enqueue_nd_range_kernel(queue, count, (BLOCKS,), None)
        cl.enqueue_nd_range_kernel(queue, sums, (1,), None)
        move.set_arg(0, pair[turn % 2])
        move.set_arg(1, pair[1 - turn % 2])
        if right:
            move.set_arg(3, np.int32(2 * turn))
        cl.enqueue_nd_range_kernel(queue, move, (BLOCKS,), None)

    tile, out = (cl.Buffer(context, flags, 4 * 64) for _ in range(2))
    load, blur = kernel("load", tile, 0), kernel("blur", tile, out, 0, 32)
    for turn in range(3):  # `first` of blur is 0 by right: its tile begins there
        load.set_arg(1, np.int32(64 * turn))
        cl.enqueue_nd_range_kernel(queue, load, (64,), None)
        if turn:
            blur.set_arg(3, np.int32(32))
        cl.enqueue_nd_range_kernel(queue, blur, (64 if turn else 32,), None)
    queue.finish()


main(sys.argv[1] == "right")
