//== bounds_sort_partner | 24/24 | i32*24=5,3,9,1,7,2,8,4,6,0,11,10,23,22,21,20,19,18,17,16,15,14,13,12 l96
KERNEL(__global int *data, __local int *work) {
  uint lid = get_local_id(0), n = get_local_size(0);
  work[lid] = data[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 16; step > 0; step >>= 1) {
    uint partner = lid ^ step;
    int mine = work[lid], other = {{work[partner]|partner < n ? work[partner] : mine}}; /*!*/
    barrier(CLK_LOCAL_MEM_FENCE);
    work[lid] = partner > lid ? min(mine, other) : max(mine, other);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[lid] = work[lid];
}
//== race_pointers_swapped | 32/32 | i32*32
KERNEL(__global int *data) {
  __local int a[32], b[32];
  __local int *from = a, *to = b;
  int lid = get_local_id(0);
  from[lid] = data[lid] + 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 32; d *= 2) {
    to[lid] = lid >= d ? from[lid] + from[lid - d] : from[lid]; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
    __local int *t = from; from = to; to = t;
  }
  data[lid] = from[lid]; /*!*/
}
//== bounds_macro_precedence | 8 | i32*8
#define HALF(n) {{n|(n)}} / 2
#define TWICE(n) HALF(n) * 2
KERNEL(__global int *a) {
  int i = get_global_id(0);
  a[HALF(i + i)] = i; /*!*/
}
//== bounds_signed_char | 8 | u8*8=1,2,3,4,5,6,250,7 i32*256
KERNEL(__global const {{char|uchar}} *text, __global int *counts) {
  int i = get_global_id(0);
  atomic_inc(&counts[text[i]]); /*!*/
}
//== race_transpose_in_place | 8,8/8,8 | f64
KERNEL(__global float *m) {
  int x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
  if ({{x != y|x < y}}) {
    float t = m[y * n + x]; /*!*/
    m[y * n + x] = m[x * n + y]; /*!*/
    m[x * n + y] = t; /*!*/
  }
}
//== uninit_member_of_local_struct | 16/16 | f16 f16
typedef struct { float low; float high; } Range;
KERNEL(__global const float *in, __global float *out) {
  __local Range seen[16];
  int lid = get_local_id(0);
  seen[lid].low = in[lid];
  {{|seen[lid].high = in[lid];}}
  barrier(CLK_LOCAL_MEM_FENCE);
  out[lid] = seen[15 - lid].high - seen[lid].low; /*!*/
}
//== barrier_behind_and | 16/16 | i32*16 l64
int meet(__local int *room, int lid) {
  room[lid] = lid;
  barrier(CLK_LOCAL_MEM_FENCE); /*!*/
  return room[lid ^ 1];
}
KERNEL(__global int *out, __local int *room) {
  int lid = get_local_id(0), seen = 0;
  if (lid < {{8|16}}) /*!*/
    seen = meet(room, lid); /*!*/
  out[lid] = seen;
}
//== division_by_other_groups | 16/16 | i32*16 i32*16
KERNEL(__global const int *in, __global int *out) {
  int i = get_global_id(0);
  out[i] = in[i] / {{(get_num_groups(0) - 1)|get_num_groups(0)}}; /*!*/
}
//== bounds_pointer_end | 4/4 | i32*20 i32*4
KERNEL(__global const int *a, __global int *sums) {
  __global const int *end = a + 20;
  int s = 0;
  for (__global const int *p = a + get_global_id(0); p {{<=|<}} end; p += get_global_size(0))
    s += *p; /*!*/
  sums[get_global_id(0)] = s;
}
//== bounds_goto_loop | 2 | i32*10 i32*2
KERNEL(__global const int *a, __global int *out) {
  int i = 0, s = 0;
again:
  s += a[i]; /*!*/
  i++;
  if (i {{<=|<}} 10) goto again;
  out[get_global_id(0)] = s;
}
//== race_flag_reset | 32/32 | i32*32=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,9 i32*32
KERNEL(__global const int *in, __global int *out) {
  __local int any;
  int lid = get_local_id(0);
  if (lid == 0) any = 0; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  if (in[lid] > 3) any = 1; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  out[lid] = any;
}
//== bounds_swizzled_store | 5/1 | f16
KERNEL(__global float4 *v) {
  int i = get_global_id(0);
  if (i < {{5|4}}) v[i].s02 = (float2)(i); /*!*/
}
