//== bounds_struct_of_arrays | 16/16 | f36 f16
typedef struct { float x[4]; float y[4]; float4 v; int tag; } Particle;
KERNEL(__global Particle *p, __global float *out) {
  int i = get_global_id(0);
  if (i < {{3|2}}) {
    p[i].v = (float4)(p[i].x[i & 3]); /*!*/
    out[i] = p[i].v.w + p[i].y[3]; /*!*/
  }
}
//== bounds_inner_array | 4/4 | f18 i32*4=0,1,2,5 f4
typedef struct { int head; float row[5]; } Line;
KERNEL(__global Line *lines, __global const int *at, __global float *out) {
  int i = get_global_id(0);
  {{__global float *first = lines[3].row;|__global float *first = lines[1].row;}}
  out[i] = first[at[i] < 5 ? at[i] : 4]; /*!*/
}
//== bounds_nested_loops | 2,2 | f60
KERNEL(__global float *cube) {
  int gx = get_global_id(0), gy = get_global_id(1);
  for (int z = 0; z < 3; z++)
    for (int y = gy; y < {{5|4}}; y += 2)
      for (int x = gx; x < 5; x += 2)
        cube[(z * 4 + y) * 5 + x] += 1.0f; /*!*/
}
//== bounds_pointer_to_pointer | 8 | i32*8
void advance_by(__global int **at, int n) { *at += n; }
int take(__global int **at) { int v = **at; *at = *at + 1; return v; }
KERNEL(__global int *a) {
  __global int *p = a;
  int i = get_global_id(0), s = 0;
  advance_by(&p, i);
  s = take(&p);
  a[{{i + 1|i}}] = s; /*!*/
}
//== bounds_union | 8 | i32*4 i32*8
typedef union { int word; uchar byte[4]; } Word;
KERNEL(__global int *in, __global int *out) {
  int i = get_global_id(0);
  Word w;
  w.word = in[i & 3];
  out[i] = w.byte[{{i|i & 3}}]; /*!*/
}
//== bounds_tile_2d | 8,8/8,8 | f64 f64
KERNEL(__global const float *in, __global float *out) {
  __local float tile[8][9];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = in[y * 8 + x];
  if (x == 0) tile[y][8] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * 8 + x] = tile[{{y + 1|y}}][x + 1]; /*!*/
}
//== bounds_switch_fall | 6 | f6
KERNEL(__global float *a) {
  int i = get_global_id(0), k = i;
  switch (i) {
    case 5: k += {{1|0}};
    case 4:
    case 3: a[k] = 1.0f; break; /*!*/
    default: { float t = a[k]; a[k] = t * 2.0f; }
  }
}
//== bounds_do_while_list | 1 | i32*6=1,2,3,4,6,-1 i32*6
KERNEL(__global const int *next, __global int *seen) {
  int at = 0;
  do {
    seen[at] = 1; /*!*/
    at = next[at]; /*!*/
  } while (at >= 0 && at < {{7|5}});
}
//== bounds_early_return | 40/8 | f33 i33
float half_of(float v) { if (v < 0.0f) return 0.0f; return v * 0.5f; }
KERNEL(__global float *a, int n) {
  int i = get_global_id(0);
  if (i {{>|>=}} n) return;
  a[i] = half_of(a[i]); /*!*/
}
//== bounds_atomics_2d | 4,4 | i32*16
KERNEL(volatile __global int *count) {
  int x = get_global_id(0), y = get_global_id(1);
  int old = atomic_max(&count[x * {{5|4}} + y], x); /*!*/
  (void)atomic_cmpxchg(count + y, old, old);
}
//== bounds_constant_table | 12 | f12
__constant float weights[2][5] = { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } };
float weight(int side, int k) { return weights[side][k]; } /*!*/
KERNEL(__global float *out) {
  int i = get_global_id(0);
  out[i] = weight({{2|1}}, i % 5); /*!*/
}
//== bounds_private_stack | 4 | i32*4
KERNEL(__global int *out) {
  int stack[8], top = 0;
  stack[top++] = get_global_id(0);
  for (int depth = 0; depth < {{8|7}}; depth++) {
    int v = stack[top - 1];
    stack[top++] = v + depth; /*!*/
  }
  out[get_global_id(0)] = stack[--top]; /*!*/
}
//== bounds_cast_rows | 4 | u8*64 i32*4
KERNEL(__global uchar *bytes, __global int *out) {
  __global int (*rows)[4] = (__global int (*)[4])bytes;
  int i = get_global_id(0);
  out[i] = rows[i{{ + 1|}}][3]; /*!*/
}
//== bounds_vload_stride | 5 | f24 f24
KERNEL(__global const float *in, __global float *out) {
  size_t i = get_global_id(0);
  float4 v = vload4(i{{ * 2|}}, in); /*!*/
  vstore4(v.wzyx, i, out);
}
//== bounds_vector_index | 4 | f16 f16
KERNEL(__global const float4 *a, __global float4 *out) {
  int i = get_global_id(0);
  float4 v = a[{{4 - i|3 - i}}]; /*!*/
  v.s03 = v.s30;
  ((__global float *)out)[i * 4 + 1] = dot(v, v);
}
//== bounds_printf | 4 | i32*4
KERNEL(__global int *a) {
  int i = get_global_id(0);
  if (i == 3) printf("%d\n", a[i + {{1|0}}]); /*!*/
}
//== bounds_size_t_wrap | 8 | f8 f8
KERNEL(__global const float *in, __global float *out) {
  size_t i = get_global_id(0);
  out[i] = in[{{i - 1|i ? i - 1 : 0}}]; /*!*/
}
//== bounds_offset_helper | 8/8 | f16 f8
void scale(__global float *dst, __global const float *src, uint n) {
  while (n--) *dst++ = *src++ * 2.0f; /*!*/
}
KERNEL(__global float *a, __global float *b) {
  if (get_global_id(0) == 0) scale(b, a + 4, {{9|8}});
}
//== bounds_ternary_sides | 8 | f8 f4 f8
KERNEL(__global const float *big, __global const float *small, __global float *out) {
  int i = get_global_id(0);
  out[i] = (i & 1 ? small : big)[{{i|i / 2}}]; /*!*/
}
//== bounds_compound_shift | 8 | i32*8
KERNEL(__global int *a) {
  int i = get_global_id(0);
  a[i << {{1|0}}] |= 1 << i; /*!*/
}
//== bounds_local_struct | 8/8 | i32*8
typedef struct { short key; char flags[6]; } Slot;
KERNEL(__global int *out) {
  __local Slot table[8];
  int l = get_local_id(0);
  table[l].key = (short)l;
  for (int k = 0; k < 6; k++) table[l].flags[k] = (char)k;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = table[{{l + 1|7 - l}}].flags[2]; /*!*/
}
//== bounds_three_arguments | 4/4 | i32*4 i32*4 i32*4 l16
int pick(__global int *g, __local int *l, int i) { return g[i] + l[i]; } /*!*/
KERNEL(__global int *a, __global int *b, __global int *c, __local int *t) {
  int i = get_global_id(0);
  t[get_local_id(0)] = a[i];
  c[i] = pick(b, t, {{get_local_id(0) + 1|get_local_id(0)}});
}
//== race_barrier_in_loop | 16/16 | f16 f16
KERNEL(__global const float *in, __global float *out) {
  __local float a[16], b[16];
  int l = get_local_id(0);
  __local float *from = a, *to = b;
  from[l] = in[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 1; s < 16; s *= 2) {
    to[l] = l >= s ? from[l] + from[l - s] : from[l]; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
    __local float *t = from; from = to; to = t;
  }
  out[l] = from[l]; /*!*/
}
//== race_double_buffer | 8/8 | f64 f64
KERNEL(__global const float *in, __global float *out) {
  __local float tile[2][8];
  int l = get_local_id(0);
  tile[0][l] = in[l];
  for (int k = 0; k < 8; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k < 7) tile[{{0|(k + 1) & 1}}][l] = in[(k + 1) * 8 + l]; /*!*/
    out[k * 8 + l] = tile[{{0|k & 1}}][7 - l]; /*!*/
  }
}
//== race_columns_of_struct | 8/4 | i32*16
typedef struct { int left, right; } Pair;
KERNEL(__global Pair *p) {
  int i = get_global_id(0);
  p[i].left = i;
  p[{{(i + 4) % 8|i}}].{{left|right}} = -i; /*!*/
}
//== race_byte_flags | 16/8 | u8*16
KERNEL(__global uchar *flags) {
  int i = get_global_id(0);
  flags[i{{ / 2|}}] = (uchar)i; /*!*/
}
//== uninit_border | 8,8/8,8 | f64 f64
KERNEL(__global const float *in, __global float *out) {
  __local float tile[10][10];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y + 1][x + 1] = in[y * 8 + x];
  if (y == 0) { tile[0][x + 1] = 0.0f; tile[9][x + 1] = 0.0f; }
  if (x == 0{{ && y > 0|}}) { tile[y + 1][0] = 0.0f; tile[y + 1][9] = 0.0f; }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * 8 + x] = tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2]; /*!*/
}
//== uninit_counter | 32/16 | U4
KERNEL(volatile __global int *count) {
  int i = get_global_id(0);
  {{|if (i < 4) atomic_xchg(&count[i], 0);}}
  {{if (i < 4) count[i] += 1;|if (i < 4) atomic_inc(&count[i]);}} /*!*/
}
//== barrier_while_some | 16/16 | i32*16=3,3,3,3,3,3,3,3,2,2,2,2,2,2,2,2 i32*16
KERNEL(__global const int *steps, __global int *out) {
  int l = get_local_id(0), k = 0;
  int limit = {{steps[l]|3}};
  while (k < limit) {
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
    k++;
  }
  out[l] = k;
}
//== barrier_switch | 16/16 | i32*16
void meet(__local int *t, int l) { t[l] = l; barrier(CLK_LOCAL_MEM_FENCE); } /*!*/
KERNEL(__global int *out) {
  __local int t[16];
  int l = get_local_id(0), kind = {{l & 1|(int)get_group_id(0) & 1}};
  if (kind == 0) meet(t, l); /*!*/
  else t[l] = -l;
  out[l] = t[l];
}
//== division_remainder_chain | 8 | i32*8=0,1,2,3,4,5,6,7 i32*8
KERNEL(__global const int *a, __global int *out) {
  int i = get_global_id(0);
  int d = a[i]{{|+ 1}};
  out[i] = (i * 3) % d + i / 2; /*!*/
}
//== alignment_packed_record | 4 | u8*64 f4
KERNEL(__global const uchar *file, __global float *out) {
  int i = get_global_id(0);
  __global const uchar *record = file + {{i * 13|i * 12}};
  out[i] = *(__global const float *)(record + 4); /*!*/
}
//== overflow_helper_pitch | 2 | f16 i50000
int flat(int row, int pitch, int col) {
  int at = row * pitch + col; /*!*/
  return at;
}
KERNEL(__global float *a, int pitch) {
  int i = get_global_id(0);
  int at = {{pitch * pitch|pitch}}; /*!*/
  if (at >= 0 && at < 16) a[at] = (float)flat(i, pitch, 1);
}
