//== copy_tail | 128/64 | f100 f100
KERNEL(__global float *out, __global const float *in) {
  int i = get_global_id(0);
  {{|if (i < 100)}} out[i] = in[0]; /*!*/
}
//== read_next | 100 | f100 f100
KERNEL(__global float *out, __global const float *in) {
  int i = get_global_id(0);
  out[i] = in[{{i + 1|min(i + 1, 99)}}] - in[i]; /*!*/
}
//== read_before | 100 | f100 f100
KERNEL(__global float *out, __global const float *in) {
  int i = get_global_id(0);
  out[i] = in[{{i - 1|max(i - 1, 0)}}]; /*!*/
}
//== into_neighbour | 64 | f64 f256
KERNEL(__global float *out, __global float *other) {
  int i = get_global_id(0);
  other[i] = 1.0f;
  out[{{i + 4096|i}}] = 2.0f; /*!*/
}
//== loop_inclusive | 1 | f50 i50
KERNEL(__global float *a, int n) {
  for (int i = 0; i {{<=|<}} n; i++)
    a[i] = (float)i; /*!*/
}
//== loop_down | 1 | f50 i50
KERNEL(__global float *a, int n) {
  for (int i = n - 1; i >= {{-1|0}}; i--)
    a[i] *= 2.0f; /*!*/
}
//== while_walk | 1 | i32*33 f1
KERNEL(__global int *a, __global float *out) {
  int k = 0;
  while (k < {{34|33}}) {
    out[0] += (float)a[k]; /*!*/
    k++;
  }
}
//== do_while | 1 | i32*16
KERNEL(__global int *a) {
  int k = 0;
  do {
    a[k] = k; /*!*/
    k += 1;
  } while (k {{<= 16|< 16}});
}
//== pointer_step | 1 | f20 f1
KERNEL(__global float *a, __global float *out) {
  __global float *p = a;
  float sum = 0;
  for (int i = 0; i < {{21|20}}; i++)
    sum += *p++; /*!*/
  out[0] = sum;
}
//== pointer_write | 1 | f20
KERNEL(__global float *a) {
  __global float *end = a + 20;
  for (__global float *p = a; p {{<=|<}} end; ++p)
    *p = 1.0f; /*!*/
}
//== pointer_base | 10 | f20 f20
KERNEL(__global float *a, __global float *b) {
  __global float *q = b + {{11|10}};
  int i = get_global_id(0);
  q[i] = a[i]; /*!*/
}
//== helper_read | 64 | f64 f64
float take(__global const float *p, int i) {
  return p[i]; /*!*/
}
KERNEL(__global float *out, __global const float *in) {
  int i = get_global_id(0);
  out[i] = take(in, {{i + 2|i}});
}
//== helper_write | 64 | f64
void put(__global float *p, int i, float v) {
  p[i] = v; /*!*/
}
KERNEL(__global float *out) {
  put(out, get_global_id(0) {{* 2|* 1}}, 3.0f);
}
//== helper_chain | 16 | f16
static float inner(__global float *p, int i) { return p[i]; /*!*/ }
static float outer(__global float *p, int i) { return inner(p + i, {{i|0}}); }
KERNEL(__global float *a) {
  int i = get_global_id(0);
  float v = outer(a, i);
  a[i] = v + 1.0f;
}
//== helper_pointer | 8 | f64 i8
__global float *row(__global float *m, int r, int w) { return m + r * w; }
KERNEL(__global float *m, int w) {
  int r = get_global_id(0);
  __global float *p = row(m, r, w);
  for (int c = 0; c < w; c++)
    p[{{c + 1|c}}] = 0.0f; /*!*/
}
//== two_dims | 8,9/1,1 | f64
KERNEL(__global float *m) {
  int x = get_global_id(0), y = get_global_id(1);
  {{|if (y < 8)}} m[y * 8 + x] = 1.0f; /*!*/
}
//== wrong_pitch | 4,4 | f16 i4
KERNEL(__global float *m, int pitch) {
  int x = get_global_id(0), y = get_global_id(1);
  m[y * {{(pitch + 1)|pitch}} + x] = 1.0f; /*!*/
}
//== three_dims | 2,3,4 | f24
KERNEL(__global float *v) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  v[(z * 3 + y) * 2 + x {{+ 1|}}] = 0; /*!*/
}
//== offset_arg | 32 | f32 i8
KERNEL(__global float *a, int off) {
  int i = get_global_id(0);
  {{|if (i + off < 32)}} a[i + off] = 1.0f; /*!*/
}
//== compound_add | 65/1 | f64
KERNEL(__global float *a) {
  int i = get_global_id(0);
  {{|if (i < 64)}} a[i] += 1.0f; /*!*/
}
//== post_increment | 65/1 | i32*64
KERNEL(__global int *a) {
  int i = get_global_id(0);
  {{|if (i < 64)}} a[i]++; /*!*/
}
//== index_effect | 1 | i32*4
KERNEL(__global int *a) {
  int k = {{1|0}};
  a[k++] = 1;
  a[k++] = 2;
  a[k++] = 3;
  a[k++] = 4; /*!*/
}
//== indirect | 8 | i32*8=0,1,2,3,4,5,6,9 f9 f8
KERNEL(__global const int *idx, __global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = in[{{idx[i]|min(idx[i], 8)}}]; /*!*/
}
//== scatter | 8 | i32*8=0,1,2,3,4,5,6,-3 f8
KERNEL(__global const int *idx, __global float *out) {
  int i = get_global_id(0);
  out[{{idx[i]|abs(idx[i])}}] = 1.0f; /*!*/
}
//== vector_type | 17/1 | f64
KERNEL(__global float4 *a) {
  int i = get_global_id(0);
  {{|if (i < 16)}} a[i] = (float4)(1.0f); /*!*/
}
//== vector_component | 17/1 | f64 f17
KERNEL(__global const float4 *a, __global float *out) {
  int i = get_global_id(0);
  out[i] = a[{{i|i & 15}}].y; /*!*/
}
//== vector_store_part | 9/1 | f16
KERNEL(__global float2 *a) {
  int i = get_global_id(0);
  {{|if (i < 8)}} a[i].x = 1.0f; /*!*/
}
//== vload_tail | 10/1 | f37 f10
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  {{|if (i < 9)}} out[i] = dot(vload4(i, in), (float4)(1.0f)); /*!*/
}
//== vstore_tail | 10/1 | f37
KERNEL(__global float *out) {
  int i = get_global_id(0);
  {{|if (i < 9)}} vstore4((float4)(2.0f), i, out); /*!*/
}
//== vload3_shift | 4 | f14 f4
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = vload3(i, in + {{3|2}}).z; /*!*/
}
//== atomic_slot | 40/1 | i32*32
KERNEL(__global int *bins) {
  int i = get_global_id(0);
  atomic_inc(&bins[{{i|i & 31}}]); /*!*/
}
//== atomic_pointer | 4 | i32*4
KERNEL(__global int *bins) {
  volatile __global int *p = bins + get_global_id(0) + {{1|0}};
  atomic_add(p, 2); /*!*/
}
//== uchar_end | 101/1 | u8*100
KERNEL(__global uchar *a) {
  int i = get_global_id(0);
  {{|if (i < 100)}} a[i] = (uchar)i; /*!*/
}
//== short_cast | 26/1 | u8*50
KERNEL(__global uchar *a) {
  __global short *s = (__global short *)a;
  int i = get_global_id(0);
  {{|if (i < 25)}} s[i] = 7; /*!*/
}
//== struct_member | 6/1 | f20
typedef struct { float x, y, z, w; } P;
KERNEL(__global P *p) {
  int i = get_global_id(0);
  {{|if (i < 5)}} p[i].z = 1.0f; /*!*/
}
//== struct_array | 4 | f20
struct cell { int n; float v[4]; };
KERNEL(__global struct cell *c) {
  int i = get_global_id(0);
  c[i].v[{{i + 4|i}}] = 2.0f; /*!*/
}
//== struct_arrow | 1 | f8 f1
struct pair { float a, b; };
KERNEL(__global struct pair *p, __global float *out) {
  __global struct pair *q = p + {{4|3}};
  out[0] = q->b; /*!*/
}
//== struct_copy | 5/1 | f16 f5
typedef struct { float a[4]; } Q;
KERNEL(__global Q *q, __global float *out) {
  int i = get_global_id(0);
  Q one = q[{{i|i & 3}}]; /*!*/
  out[i] = one.a[1];
}
//== constant_argument | 20 | f16 f20
KERNEL(__constant float *table, __global float *out) {
  int i = get_global_id(0);
  out[i] = table[{{i|i & 15}}]; /*!*/
}
//== program_constant | 8 | f8
__constant float weights[6] = {1, 2, 3, 4, 5, 6};
KERNEL(__global float *out) {
  int i = get_global_id(0);
  out[i] = weights[{{i|i % 6}}]; /*!*/
}
//== macro_index | 33/1 | f32
#define AT(p, k) ((p)[(k) + 0])
KERNEL(__global float *a) {
  int i = get_global_id(0);
  {{|if (i < 32)}} AT(a, i) = 1.0f; /*!*/
}
//== ternary_pointer | 8 | f8 f4
KERNEL(__global float *a, __global float *b) {
  int i = get_global_id(0);
  __global float *p = (i & 1) ? a : b;
  p[{{i|i >> 1}}] = 1.0f; /*!*/
}
//== swap_pointers | 1 | f8 f8
KERNEL(__global float *a, __global float *b) {
  __global float *s = a, *d = b;
  for (int k = 0; k < 3; k++) {
    d[{{7 + k|7}}] = s[0] + 1.0f; /*!*/
    __global float *t = s; s = d; d = t;
  }
}
//== switch_case | 4 | i32*4
KERNEL(__global int *a) {
  int i = get_global_id(0);
  switch (i) {
  case 0: a[0] = 1; break;
  case 3: a[{{i + 1|i}}] = 2; /*!*/ break;
  default: a[i] = 3;
  }
}
//== double_end | 9/1 | d8
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
KERNEL(__global double *a) {
  int i = get_global_id(0);
  {{|if (i < 8)}} a[i] = 1.0; /*!*/
}
//== stencil_edge | 32 | f32 f32
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  float s = 0;
  for (int d = -1; d <= 1; d++)
    if ({{1|i + d >= 0 && i + d < 32}})
      s += in[i + d]; /*!*/
  out[i] = s;
}
//== matrix_column | 4,4 | f16 f16 i4
KERNEL(__global const float *a, __global float *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n {{+ 1|}}; k++)
    s += a[y * n + k] * a[k * n + x]; /*!*/
  c[y * n + x] = s;
}
//== array_pointer | 2 | f12
KERNEL(__global float (*m)[3]) {
  int i = get_global_id(0);
  m[i + {{3|2}}][2] = 1.0f; /*!*/
}
//== comma_store | 5/1 | i32*4
KERNEL(__global int *a) {
  int i = get_global_id(0), j = 0;
  {{|if (i < 4)}} j = 2, a[i] = j; /*!*/
}
//== volatile_write | 9/1 | i32*8
KERNEL(volatile __global int *a) {
  int i = get_global_id(0);
  {{|if (i < 8)}} a[i] = 5; /*!*/
}
