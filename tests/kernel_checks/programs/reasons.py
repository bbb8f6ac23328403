"""Kernels that leave a buffer, each for another reason, or with "right" their correct neighbours. Nothing is checked here."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
typedef struct { int id; double weight; } Record;
__kernel void tail(__global float *o, int n) { int i = get_global_id(0); if (RIGHT ? i < n : 1) o[i] = i; }
__kernel void rows(__global float *o, int h, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && (RIGHT ? y < h : 1)) o[y * w + x] = 1;
}
__kernel void before(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = a[RIGHT ? max(i - 1, 0) : i - 1]; }
__kernel void below(__global const float *a, __global float *o) { uint i = get_global_id(0); o[i] = RIGHT && !i ? 0 : a[i - 1]; }
__kernel void hashed(__global const int *key, __global int *o, int slots) {
  int slot = RIGHT ? ((uint)key[get_global_id(0)] * 40503u) % slots : (key[get_global_id(0)] * 40503) % slots;
  atomic_add(&o[slot], 1);
}
__kernel void taken(__global const float *t, __global const int *ids, __global float *o, int dim) {
  int r = get_global_id(1), c = get_global_id(0);
  o[r * dim + c] = t[ids[r] * dim + c];
}
__kernel void sums(__global double *o) { o[get_group_id(0)] = 1; }
__kernel void heavy(__global Record *r, int n) { int i = get_global_id(0); if (i < n) r[i].weight = 1; }
__kernel void turned(__global float *o, int w, int h) { o[get_global_id(0) * h + get_global_id(1)] = w; }
__kernel void inclusive(__global const float *c, __global float *o, int n) {
  float s = 0;
#if RIGHT
  for (int k = 0; k < n; ++k) s += c[k];
#else
  for (int k = 0; k <= n; ++k) s += c[k];
#endif
  o[get_global_id(0)] = s;
}
__kernel void pitched(__global float *o, int w, int h, int stride) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) o[y * stride + x] = 1;
}
__kernel void next(__global const int *p, __global int *o, int n) { int i = get_global_id(0); if (i < n) o[i] = p[i + 1]; }
__kernel void staged(__global float *o, __local float *t) { int l = get_local_id(0); t[l] = l; o[get_global_id(0)] = t[l]; }
__kernel void narrow(__global float *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  RIGHT_OR_SHORT at = y * w + x;
  o[at] = 1;
}
int bin_of(int ticks, int bins, int range) {
  if (ticks < 0) return 0;
  return RIGHT ? (int)((long)ticks * bins / range) : ticks * bins / range;
}
__kernel void binned(__global const int *t, __global int *o, int bins, int range) {
  int b = bin_of(t[get_global_id(0)], bins, range);
  atomic_inc(&o[b]);
}
void store(__global float *to, int at) { to[at] = 1; }
void put(__global float *to, int row, int column, int pitch) { store(to, row * pitch + column); }
__kernel void placed(__global float *o, int h, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && (RIGHT ? y < h : 1)) put(o, y, x, w);
}
float picked(__global const float *from, int at) { return from[at]; }
__kernel void passed(__global const float *a, __global const float *b, __global float *o, int first, int many) {
  int i = get_global_id(0);
  o[i] = picked(a, i) + picked(b + first, i * many);
}
uint scattered(uint key) { return key * 2654435761u; }
__kernel void spread(__global const uint *key, __global int *o, int slots) {
  atomic_inc(&o[scattered(key[get_global_id(0)]) % (slots + (RIGHT ? 0 : 1))]);
}
__kernel void grouped(__global const int *v, __global int *o, int n) {
  if (get_local_id(0) < 4) o[get_group_id(0) * 4 + get_local_id(0)] = n;
}
__kernel void shifted(__global float *o, int first) { o[first + get_global_id(0)] = 1; }
__kernel void smoothed(__global const float *p, __global const float *w, __global float *o, int n, int k) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += p[i + j] * w[j];
  o[i] = s;
}
__kernel void unpadded(__global const float *p, __global const float *w, __global float *o, int n, int k) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += p[i + j] * w[j];
  o[i] = s;
}
__kernel void pooled(__global const float *p, __global const float *w, __global float *o, int n, int k) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += p[i + j] * w[j];
  o[i] = s;
}
typedef struct { float3 at; float radius; int id; } Light;
__kernel void lit(__global const Light *l, __global float *o, int lights) {
  float s = 0;
  for (int k = 0; k < lights; ++k) s += l[k].radius;
  o[get_global_id(0)] = s;
}
__kernel void halved(__global const Light *l, __global float *o, int lights) {
  float s = 0;
  for (int k = 0; k < lights; ++k) s += l[k].radius;
  o[get_global_id(0)] = s;
}
__kernel void curved(__global float *o, float gamma, int n) { int i = get_global_id(0); if (i < n) o[i] = gamma; }
__kernel void grown(__global const float *p, __global float *o, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0;
  for (int k = max(0, i - 4); k <= i; ++k) s += p[k];
  o[i] = s;
}
__kernel void stale(__global const float *p, __global float *o, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  for (int k = max(0, i - 4); k <= i; ++k) o[i] += p[k];
}
__kernel void sparse(__global const int *ends, __global const float *v, __global float *o, int rows) {
  int r = get_global_id(0);
  if (r >= rows) return;
  float s = 0;
  int end = ends[r + 1];
  for (int k = ends[r]; k < end; ++k) s += v[k];
  o[r] = s;
}
__kernel void atmost(__global float *o, int n) {
  int i = get_global_id(0);
  if (RIGHT ? i >= n : 0) return;
  if (i > n) return;
  o[i] = 1;
}
typedef struct { int n, first; RIGHT_OR_INT factor; } Deck;
RIGHT_OR_INT dealt(RIGHT_OR_INT i, Deck d) { return (i * d.factor + d.first) % d.n; }
__kernel void shuffled(__global float *o, Deck d) { int i = get_global_id(0); if (i < d.n) o[dealt(i, d)] = i; }
__kernel void decked(__global float *o, Deck d) { int i = get_global_id(0); if (i < d.n) o[i] = i; }
__kernel void reversed(__global float *o, __local float *t, int bits) {
  int l = get_local_id(0), items = get_local_size(0);
  for (int k = l; k < 2 * items; k += items) {
    uint r = 0;
    for (int b = 0; b < bits; ++b) r |= ((k >> b) & 1) << (bits - 1 - b);
    t[r] = k;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  o[get_global_id(0)] = t[l] + t[l + items];
}
__kernel void pushed(__global int *queue, __global int *count) { queue[atomic_inc(count)] = get_global_id(0); }
__kernel void popped(__global const int *front, __global int *o, int count) { int i = get_global_id(0); if (i < count) o[i] = front[i]; }
__kernel void crossed(__global const float *a, __global float *o, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  o[RIGHT ? x * h + y : x * w + y] = a[y * w + x];
}
__kernel void chunk(__global float *o) { o[get_global_id(0)] = 1; }
__kernel void blown(__global const float *pinned, __global const float4 *wind, __global float4 *o) {
  int i = get_global_id(0);
  o[i] = wind[i] * (1.0f - pinned[i]);
}
__kernel void leading(__global const float *b, __global float *o, int rows, int columns, int ld) {
  int x = get_global_id(0);
  float s = 0;
  for (int y = 0; y < rows; ++y) s += b[y * ld + x];
  if (x < columns) o[x] = s;
}
__kernel void kept(__global float *cache, int row, int layer, int each) {
  int i = get_global_id(0), t = get_global_id(1);
  if (i < row) cache[(layer * each + t) * row + i] = 1;
}
__kernel void scored(__global const float *cache, __global float *o, int row) {
  int t = get_global_id(0);
  float s = 0;
  for (int i = 0; i < row; ++i) s += cache[t * row + i];
  o[t] = s;
}
__kernel void planes(__global float *image, int plane) {
  int i = get_global_id(0);
#if RIGHT
  if (i >= plane) return;
#endif
  image[2 * plane + i] = i;
}
__kernel void banked(__global float *o, __local float *t) {
  int l = get_local_id(0);
  t[l + (l >> 4)] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[get_global_id(0)] = t[l + (l >> 4)];
}
__kernel void echoed(__global const float *ring, __global const int *late, __global float *o, int cap) {
  int i = get_global_id(0);
  int tap = RIGHT ? (i - late[0] + cap) % cap : (i - late[0]) % cap;
  o[i] = ring[tap];
}
__kernel void leftmost(__global const float *a, __global float *o, int n) {
  int i = get_global_id(0);
  o[i] = a[RIGHT ? i % n : (i - 30) % n - 200];
}
__kernel void paired(__global float *o, int span) {
  int t = get_global_id(0), a = t / span * span * 2 + t % span;
  o[a] = t;
  o[a + span] = -t;
}
__kernel void cut(__global uchar *o, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) o[y * w + x] = 1;
}
__kernel void counted(__global const int *ptr, __global int *o) { int i = get_global_id(0); o[i] = ptr[i + 1] - ptr[i]; }
__kernel void gathered(__global const int *ptr, __global const int *idx, __global const float *t, __global float *o) {
  o[get_global_id(0)] = t[idx[ptr[get_global_id(0)]]];
}
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    options = [f"-DRIGHT={int(right)}", f"-DRIGHT_OR_SHORT={'int' if right else 'short'}", f"-DRIGHT_OR_INT={'long' if right else 'int'}"]
    made = cl.Program(context, SOURCE).build(options)

    def memory(count: int, kind: type = np.float32, values: object = 0) -> cl.Buffer:
        data = np.full(count, values, kind) if np.isscalar(values) else np.asarray(values, kind)
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)

    def run(name: str, shape: tuple[int, ...], group: tuple[int, ...] | None, *arguments: object) -> None:
        kernel = getattr(made, name)
        kernel(queue, shape, group, *(np.int32(one) if isinstance(one, int) else one for one in arguments))

    short = memory(300)
    run("tail", (1024,), (64,), memory(1000), 1000)
    run("rows", (48, 48), (16, 16), memory(37 * 45), 37, 45)
    run("before", (512,), (64,), memory(512), memory(512))
    run("below", (512,), (64,), memory(512), memory(512))
    run("hashed", (64,), None, memory(64, np.int32, 53100), memory(4096, np.int32), 4096)
    run("taken", (16, 32), None, memory(500 * 16), memory(32, np.int32, 499 if right else 500), memory(32 * 16), 16)
    run("sums", (256,), (8,), memory(32 * 2 if right else 32))
    run("heavy", (1024,), (64,), memory(1000 * (4 if right else 3)), 1000)
    run("turned", (96, 40), None, memory(96 * 40), *((96, 40) if right else (40, 96)))
    run("crossed", (96, 40), None, memory(96 * 40), memory(96 * 40), 96, 40)
    run("inclusive", (64,), None, memory(25), memory(64), 25)
    run("pitched", (112, 64), (16, 4), memory(112 * 60), 100, 60, 112 if right else 448)
    run("next", (1024,), (64,), memory(1001 if right else 1000, np.int32), memory(1000, np.int32), 1000)
    run("staged", (256,), (64,), memory(256), cl.LocalMemory(256 if right else 128))
    run("narrow", (304, 200), (16, 8), memory(304 * 200), 304)
    run("binned", (64,), None, memory(64, np.int32, 2_100_000), memory(1024, np.int32), 1024, 3_000_000)
    run("placed", (48, 48), (16, 16), memory(37 * 45), 37, 45)
    run("passed", (64,), None, memory(64), memory(164 + 64 * (2 if right else 0)), memory(64), 100, 2)
    run("spread", (64,), None, memory(64, np.uint32, 4), memory(10, np.int32), 10)
    run("grouped", (192,), (64,), memory(192, np.int32), memory(4 * (3 if right else 2), np.int32), 190)
    run("lit", (64,), None, memory(30 * (8 if right else 5)), memory(64), 30)
    run("halved", (64,), None, memory(30 * 8 if right else 15 * 8), memory(64), 30)
    run("curved", (1024,), (64,), memory(1000), np.float32(1.8), 1000 if right else int(np.float32(1.8).view(np.int32)))
    made.chunk(queue, (232 if right else 256,), None, memory(1000), global_offset=(768,))
    first = np.int32(0 if right else 500)
    made.shifted(queue, (500,), (50,), memory(1000), first, global_offset=(500,))
    signal, taps = memory(1000 + 16), memory(17)
    run("smoothed", (1024,), (64,), *((signal, taps) if right else (taps, signal)), memory(1000), 1000, 17)
    run("unpadded", (1024,), (64,), memory(1016 if right else 1000), memory(17), memory(1000), 1000, 17)
    # Too short, beside a large buffer that the kernel needs little of: nothing says that they are swapped.
    run("pooled", (1024,), (64,), memory(1016 if right else 500), memory(4096), memory(1000), 1000, 17)
    def deck(n: int) -> np.ndarray:
        kind = np.dtype([("n", "<i4"), ("first", "<i4"), ("factor", "<i8" if right else "<i4")])
        return np.array((n, 17, 48271), kind)[()]  # type: ignore[no-any-return]

    run("shuffled", (50000,), None, memory(50000), deck(50000))
    run("decked", (512,), (64,), memory(400), deck(400 if right else 500))
    run("reversed", (256,), (64,), memory(256), cl.LocalMemory(512 if right else 256), 7)
    frontier = memory(400 if right else 300, np.int32)
    run("pushed", (400,), None, frontier, memory(1, np.int32))
    run("popped", (448,), (64,), frontier, memory(400, np.int32), 400)
    for n in (200, 400):
        run("grown", (448,), (64,), memory(400) if right else short, memory(n), n)
    run("stale", (448,), (64,), memory(300), memory(300), 300 if right else 400)
    run("paired", (64 if right else 128,), None, memory(128), 4)
    run("cut", (320, 240), (16, 16), memory(320 * 240 if right else 320 * 240 - (1 << 16), np.uint8), 320, 240)
    starts, columns = memory(33, np.int32, np.arange(33) * 5), memory(165, np.int32, np.arange(165) * 7 % 80)
    run("counted", (32,), None, starts, memory(32, np.int32))
    run("gathered", (32,), None, *((starts, columns) if right else (columns, starts)), memory(80), memory(32))
    pinned, wind = memory(960), memory(960 * 4)
    run("blown", (960,), None, *((pinned, wind) if right else (wind, pinned)), memory(960 * 4))
    run("sparse", (64,), None, memory(65 if right else 64, np.int32), memory(1), memory(64), 64)
    run("atmost", (1024,), (64,), memory(1000), 1000)
    run("leading", (50,), None, memory(130 * 50), memory(50), 130, 50, 50 if right else 130)
    cache = memory(4 * 64 * 32)
    run("kept", (32 if right else 128, 64), None, cache, 32 if right else 128, 3, 64)
    run("scored", (256,), (64,), cache, memory(256), 32)
    run("echoed", (64,), None, memory(128), memory(1, np.int32, 100), memory(64), 128)
    run("leftmost", (64,), None, memory(64), memory(64), 64)
    run("planes", (1024,), (64,), memory(3 * 1000), 1000)
    run("banked", (256,), (64,), memory(256), cl.LocalMemory(4 * (67 if right else 64)))
    queue.finish()


main(sys.argv[1] == "right")
