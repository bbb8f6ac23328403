//== bounds_helper_row | 32/8 | F32 F32 l32
void load_row(__local float *row, __global const float *from, int n) {
  int l = get_local_id(0);
  for (int k = l; k < n; k += get_local_size(0))
    row[k] = from[k]; /*!*/
}
float smooth(__local const float *row, int l, int n) {
  float left = l ? row[l - 1] : row[l], right = l + 1 < n ? row[l + 1] : row[l];
  return (left + row[l] + right) / 3.0f;
}
KERNEL(__global const float *in, __global float *out, __local float *row) {
  int n = get_local_size(0);
  load_row(row, in + get_group_id(0) * n, {{n + 2|n}});
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = smooth(row, get_local_id(0), n);
}
//== race_helper_swap | 16/16 | F16 F16 l64 l64
void mirror(__local float *to, __local const float *from) {
  int l = get_local_id(0);
  to[l] = from[get_local_size(0) - 1 - l]; /*!*/
}
KERNEL(__global const float *in, __global float *out, __local float *a, __local float *b) {
  int l = get_local_id(0);
  a[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  mirror(b, a);
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  mirror(a, b); /*!*/
  out[get_global_id(0)] = a[l];
}
//== bounds_struct_cells | 12 | F48 F12 i3
typedef struct { float mass; struct { float x, y; } at; float spare; } Cell;
KERNEL(__global const Cell *cells, __global float *out, int radius) {
  int i = get_global_id(0);
  float sum = 0.0f;
  for (int d = -radius; d <= radius; ++d) {
    int j = {{i + d|clamp(i + d, 0, 11)}};
    sum += cells[j].mass * cells[j].at.y; /*!*/
  }
  out[i] = sum;
}
//== barrier_nested_loops | 16/16 | F16 F16
KERNEL(__global const float *in, __global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  t[l] = in[l];
  for (int round = 0; round < 3; round++) {
    for (int step = 1; step < {{16 - l|16}}; step *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE); /*!*/
      float v = t[l] + t[(l + step) % 16];
      barrier(CLK_LOCAL_MEM_FENCE); /*!*/
      t[l] = v / 2;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[15 - l];
}
//== bounds_vector_mix | 8 | F25 F32
KERNEL(__global const float *xyz, __global float4 *out) {
  size_t i = get_global_id(0);
  float3 p = vload3({{i + 1|i}}, xyz); /*!*/
  float2 q = vload2(0, xyz + 2 * (i % 4));
  vstore4((float4)(p, q.x + q.y), i, (__global float *)out);
}
//== bounds_vector_store | 8 | F24 F25
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  vstore3(vload3(i, in) * 2.0f, i, out + {{2|1}}); /*!*/
}
//== bounds_halo | 16,16/8,8 | F256 F256 i16
#define R 1
KERNEL(__global const float *in, __global float *out, int n) {
  __local float tile[8 + {{R|2 * R}}][8 + 2 * R];
  int lx = get_local_id(0), ly = get_local_id(1), gx = get_group_id(0) * 8, gy = get_group_id(1) * 8;
  for (int y = ly; y < 8 + 2 * R; y += 8)
    for (int x = lx; x < 8 + 2 * R; x += 8)
      tile[y][x] = in[clamp(gy + y - R, 0, n - 1) * n + clamp(gx + x - R, 0, n - 1)]; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int dy = 0; dy <= 2 * R; dy++)
    for (int dx = 0; dx <= 2 * R; dx++)
      s += tile[ly + dy][lx + dx]; /*!*/
  out[(gy + ly) * n + gx + lx] = s;
}
//== bounds_sub_buffer | 16 | S16 F16
KERNEL(__global const float *part, __global float *out) {
  int i = get_global_id(0);
  out[i] = part[{{i + 8|(i + 8) % 16}}]; /*!*/
}
//== race_cmpxchg | 64/16 | F64 i32*1 i32*1
KERNEL(__global const float *in, volatile __global int *best, volatile __global int *count) {
  int mine = (int)in[get_global_id(0)];
  int seen = best[0];
  while (seen < mine) {
    int was = atomic_cmpxchg(best, seen, mine);
    if (was == seen) break;
    seen = was;
  }
  {{count[0] += 1;|atomic_inc(count);}} /*!*/
}
//== bounds_async_strided | 32/8 | F128 F32
KERNEL(__global const float *matrix, __global float *column) {
  __local float t[{{6|8}}];
  size_t first = get_group_id(0) * 8;
  event_t e = async_work_group_strided_copy(t, matrix + first * 4, 8, 4, 0); /*!*/
  wait_group_events(1, &e);
  t[get_local_id(0)] *= 2.0f; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy(column + first, t, 8, 0); /*!*/
  wait_group_events(1, &e);
}
//== race_async_wait | 8/8 | F8 F8
KERNEL(__global const float *in, __global float *out) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = in[l] + 1.0f; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  out[l] = t[(l + 3) % 8]; /*!*/
}
//== bounds_macro | 8 | F40 F8
#define AT(m, r, c) (m)[(r) * PITCH + (c)]
#define PITCH 5
#define SUM_ROW(m, r, n) do { for (int c = 0; c < (n); c++) total += AT(m, r, c); } while (0)
KERNEL(__global const float *m, __global float *out) {
  int r = get_global_id(0);
  float total = 0.0f;
  SUM_ROW(m, r, {{PITCH + 1|PITCH}}); /*!*/
  out[r] = total;
}
//== overflow_restrict | 4 | F16 F4 i70000
KERNEL(__global const float *restrict in, __global float *restrict out, int pitch) {
  int y = get_global_id(0) + 40000;
  {{int at = y * pitch;|long at = (long)y * pitch;}} /*!*/
  out[get_global_id(0)] = in[at & 15]; /*!*/
}
//== bounds_walking | 4 | F32 F32
KERNEL(__global const float *in, __global float *out) {
  __global const float *from = in + get_global_id(0) * 8, *const end = from + {{9|8}};
  __global float *to = out + get_global_id(0) * 8 + 8;
  do {
    *--to = *from++; /*!*/
  } while (from != end);
}
//== bounds_ternary | 16 | F16 F8 F16
KERNEL(__global const float *a, __global const float *b, __global float *out) {
  int i = get_global_id(0);
  __global const float *p = i & 1 ? b : a;
  out[i] = p[{{i|i / 2}}] + (i > 8 ? a : out)[i]; /*!*/
}
//== bounds_ternary_walk | 8 | F16 F16 F8
KERNEL(__global const float *a, __global const float *b, __global float *out) {
  int i = get_global_id(0);
  __global const float *p = (i & 1 ? b : a) + {{2 * i + 2|2 * i}};
  float s = *p++; /*!*/
  s += *p++; /*!*/
  out[i] = s;
}
//== bounds_struct_pointer | 16 | F16 F16 i16
typedef struct { __global const float *data; int size; } View;
KERNEL(__global const float *in, __global float *out, int n) {
  View v;
  v.data = in + 1;
  v.size = {{n|n - 1}};
  int i = get_global_id(0);
  out[i] = v.data[min(i, v.size - 1)]; /*!*/
}
//== bounds_struct_pointer_helper | 16 | F16 F16 i16
typedef struct { __global float *data; int size; } View;
float fetch(View v, int i) { return v.data[i]; } /*!*/
void store(const View *v, int i, float x) { v->data[i] = x; } /*!*/
KERNEL(__global float *in, __global float *out, int n) {
  View from = { in, n }, to = { out, n };
  int i = get_global_id(0);
  store(&to, {{i + 1|i}}, fetch(from, n - 1 - i));
}
//== uninit_while | 8/8 | F8 F8
KERNEL(__global const float *in, __global float *out) {
  __local float stack[8];
  int l = get_local_id(0), top = 0;
  if (l == 0)
    while (top < {{7|8}}) { stack[top] = in[top]; top++; }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = stack[l]; /*!*/
}
//== bounds_switch | 9 | F9 F12
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0), at;
  switch (i % 3) {
  case 0: at = i; break;
  case 1: at = i + 3; break;
  default: at = {{i + 5|i}};
  }
  out[at] = in[i]; /*!*/
}
//== bounds_state_machine | 4 | u8*32=49,50,44,51,44,52,53,44,54,44,55,56,57,44,48,44,49,44,50,44,51,44,52,44,53,44,54,44,55,44,56,44 i32*16 i8
enum State { START, DIGITS, DONE };
KERNEL(__global const uchar *text, __global int *sums, int length) {
  int line = get_global_id(0), at = line * length, end = at + length, field = 0, value = 0;
  enum State state = START;
  while (state != DONE) {
    uchar c = at < end ? text[at++] : 0;
    if (c == 0) { state = DONE; continue; }
    switch (state) {
    case START: value = 0; state = DIGITS; /* fall through */
    case DIGITS:
      if (c >= '0' && c <= '9') { value = value * 10 + c - '0'; break; }
      sums[line * 4 + {{field|field % 4}} + {{1|0}}] = value; /*!*/
      field++;
      state = START;
      break;
    default: return;
    }
  }
}
//== barrier_early_return | 20/10 | F20 F20 i20
KERNEL(__global const float *in, __global float *out, int n) {
  __local float t[10];
  int i = get_global_id(0), l = get_local_id(0);
  if (i >= {{n - 3|n}}) return;
  t[l] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE); /*!*/
  out[i] = t[9 - l]; /*!*/
}
//== bounds_half | 8 | h16 F9
KERNEL(__global const half *in, __global float *out) {
  int i = get_global_id(0);
  float2 v = vload_half2({{i + 1|i}}, in); /*!*/
  out[i] = v.x + vload_half(i, in) + v.y;
}
//== bounds_double_column | 6 | d18 d6
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
KERNEL(__global const double *m, __global double *out) {
  int c = get_global_id(0);
  double best = -1.0;
  for (int r = 2; r >= {{-1|0}}; --r)
    best = fmax(best, m[r * 6 + c]); /*!*/
  out[c] = best;
}
//== alignment_double | 4 | u8*48 d4
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
KERNEL(__global const uchar *packet, __global double *out) {
  int i = get_global_id(0);
  __global const uchar *payload = packet + {{4|8}};
  out[i] = ((__global const double *)payload)[i]; /*!*/
}
//== bounds_volume_offset | 4,3,2+1,1,1 | F60 F60
KERNEL(__global const float *in, __global float *out) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  size_t w = 5, h = 4;
  out[(z * h + y) * w + x] = in[((z - 1) * h + y - 1) * w + x {{- 7|- 1}}]; /*!*/
}
//== bounds_constant_table | 8 | i32*8=0,1,2,3,4,5,6,7 F8
__constant float WEIGHTS[2][3] = { { 1.0f, 2.0f, 3.0f }, { 4.0f, 5.0f, 6.0f } };
__constant int OFFSETS[] = { 3, 1, 2, 0 };
KERNEL(__global const int *ids, __global float *out) {
  int i = get_global_id(0);
  out[i] = WEIGHTS[1][OFFSETS[ids[i] % 4] {{|% 3}}]; /*!*/
}
//== race_stencil_in_place | 32/8 | F32 F32
KERNEL(__global float *a, __global float *b) {
  int i = get_global_id(0);
  float v = i > 0 && i < 31 ? (a[i - 1] + a[i + 1]) / 2 : a[i]; /*!*/
  {{a|b}}[i] = v; /*!*/
}
//== uninit_column | 16 | U16 F16
KERNEL(__global float *work, __global float *out) {
  int i = get_global_id(0);
  if (i {{> 0|>= 0}}) work[i] = i * 2.0f;
  out[i] = work[i] + 1.0f; /*!*/
}
//== division_window | 8 | i32*8=1,2,4,0,5,2,1,3 F8
int share(int total, int parts) { return total / parts; } /*!*/
KERNEL(__global const int *parts, __global float *out) {
  int i = get_global_id(0);
  out[i] = share(100, {{parts[i]|max(parts[i], 1)}}); /*!*/
}
//== race_transposed | 8,8/8,8 | F64 F64
KERNEL(__global const float *in, __global float *out) {
  __local float t[8][8 + 1];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = in[y * 8 + x]; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  out[y * 8 + x] = t[x][y]; /*!*/
}
//== bounds_local_pointer_walk | 8/8 | F8 F8
KERNEL(__global const float *in, __global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  __local float *lower = t, *upper = t + 8, *p = lower + l;
  *p = in[l];
  p += 8;
  *p = -in[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  __local float *q = upper;
  q += l;
  out[l] = q[{{1|0}}] + *(lower + (7 - l)); /*!*/
}
//== bounds_private_queue | 4 | F4 i5
KERNEL(__global float *out, int rounds) {
  float queue[4] = { 0 };
  int head = 0, tail = 0, i = get_global_id(0);
  for (int r = 0; r < rounds; r++) {
    queue[{{tail++|tail++ % 4}}] = i * r; /*!*/
    if (r & 1) out[i] += queue[head++ % 4];
  }
}
