"""Loops that do not end, each for another reason, or with "right" their correct neighbours: NAME,NAME... wrong|right. Nothing is checked
here."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
int seek(__global const float *k, int n, float x) {
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi + RIGHT) / 2;
    if (k[mid] <= x) lo = mid; else hi = mid - 1;
  }
  return lo;
}
__kernel void halving(__global const float *k, __global float *o, int n) { o[0] = seek(k, n, 50); }
__kernel void around(__global const float *k, __global float *o, int n) {
  float s = 0;
  int left = n;
  while (left != 0) {
    for (int i = 0; i < 1000; ++i) s += k[i % n];
    left -= RIGHT ? 1 : 3;
    if (left < -1000000) left = n;
  }
  o[0] = s;
}
__kernel void closer(__global const float *k, __global float *o, int n) {
  float error = k[0] + 1, x = 1;
  while (!(error < 0.001f)) { error = RIGHT ? error * 0.5f : error / 0 * 0; x += 1; }
  o[0] = x;
}
__kernel void open_end(__global const float *k, __global float *o, int n) {
  int at = 0;
  for (;;) { if (at >= n) break; at += RIGHT ? 1 : (at < 3); }
  o[0] = at;
}
__kernel void probing(__global const float *k, __global float *o, int n) {
  int at = 7;
  while (1) {
    float found = k[at];
    if (RIGHT ? found > 50 : found < 0) break;
    at = (at + 1) % n;
  }
  o[0] = at;
}
__kernel void hopping(__global const float *k, __global float *o, int n) {
  int at = 0;
  for (;;) {
    float found = k[at];
    if (RIGHT ? found > 50 : found == 3) break;
    at = (at + 4) % n;
  }
  o[0] = at;
}
__kernel void filling(__global float *k, __global float *o, int n) {
  int at = 0;
  for (;;) {
    if (k[at] == (RIGHT ? 5 : -1)) { k[at] = 1; break; }
    if (++at == n) at = 0;
  }
  o[0] = at;
}
__kernel void wandering(__global const float *k, __global float *o, int n) {
  int at = 0;
  for (;;) {
    float found = k[at];
    if (RIGHT ? found > 50 : found < 0) break;
    if (found > 10) at = (at + 3) % n;
    else at = (at + 1) % n;
  }
  o[0] = at;
}
__kernel void long_one(__global const float *k, __global float *o, int n) {
  float s = 0;
  for (int i = 0; i < 6000000; ++i) s += k[i % n];
  for (int i = 6000000; i >= 0; i -= 2) s -= k[i % n];
  o[0] = s;
}
__kernel void beyond(__global const float *k, __global float *o, uint n) {
  float s = 0;
  uint last = RIGHT ? n : n - 200;
  for (uint i = 0; i < last; ++i) s += k[i % n];
  o[0] = s;
}
__kernel void narrow(__global const float *k, __global float *o, int n) {
  float s = 0;
  for (uchar i = 0; i < (RIGHT ? n : n + 200); ++i) s += k[i % n];
  o[0] = s;
}
__kernel void downwards(__global const float *k, __global float *o, uint n) {
  float s = 0;
  for (uint i = n; i >= RIGHT; --i) s += k[i % n];
  o[0] = s;
}
"""


def main(names: list[str], right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    knots = cl.Buffer(context, flags, hostbuf=np.arange(100, dtype=np.float32))
    result = cl.Buffer(context, flags, hostbuf=np.zeros(1, np.float32))
    for name in names:
        getattr(made, name)(queue, (1,), None, knots, result, np.int32(100))
        queue.finish()


main(sys.argv[1].split(","), sys.argv[2] == "right")
