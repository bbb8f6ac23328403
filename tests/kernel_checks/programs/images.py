"""Kernels that read and write images at coordinates that are not meant, or with "right" their correct neighbours."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__constant sampler_t INSIDE = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST |
#if RIGHT
  CLK_NORMALIZED_COORDS_FALSE;
#else
  CLK_NORMALIZED_COORDS_TRUE;
#endif
__kernel void pixels(__read_only image2d_t a, sampler_t s, __global float *o) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * get_image_width(a) + x] = read_imagef(a, s, (float2)(x + 0.5f, y + 0.5f)).x;
}
__kernel void in_source(__read_only image2d_t a, __global float *o) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * get_image_width(a) + x] = read_imagef(a, INSIDE, (float2)(x + 0.5f, y + 0.5f)).x;
}
__kernel void beyond(__write_only image2d_t a, int w, int h) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  if (RIGHT ? p.x < w && p.y < h : 1) write_imagef(a, p, (float4)(1));
}
/* Correct in both cases: a normalized sampler with normalized coordinates, a little beyond the edge, and one that repeats. */
__kernel void parts(__read_only image2d_t a, sampler_t s, __global float *o) {
  int x = get_global_id(0), y = get_global_id(1), w = get_image_width(a);
  o[y * w + x] = read_imagef(a, s, (float2)(1.5f * x / w, 1.5f * y / w)).x;
}
__kernel void tiled(__read_only image2d_t a, sampler_t s, __global float *o) {
  int x = get_global_id(0), y = get_global_id(1), w = get_image_width(a);
  o[y * w + x] = read_imagef(a, s, (float2)(x + 0.5f, y + 0.5f)).x;
}
"""
SIDE = 32


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    pixels = np.arange(SIDE * SIDE * 4, dtype=np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    image = cl.Image(context, flags, form, shape=(SIDE, SIDE), hostbuf=pixels)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIDE * SIDE * 4)
    edge, repeat = cl.addressing_mode.CLAMP_TO_EDGE, cl.addressing_mode.REPEAT
    nearest, shape = cl.filter_mode.NEAREST, (SIDE, SIDE)
    made.pixels(queue, shape, None, image, cl.Sampler(context, not right, edge, nearest), out)
    made.in_source(queue, shape, None, image, out)
    made.parts(queue, shape, None, image, cl.Sampler(context, True, edge, nearest), out)
    made.tiled(queue, shape, None, image, cl.Sampler(context, True, repeat, nearest), out)
    made.beyond(queue, (SIDE + 16, SIDE), None, image, np.int32(SIDE), np.int32(SIDE))
    queue.finish()
    print("done")


main(sys.argv[1] == "right")
