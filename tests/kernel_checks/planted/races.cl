//== missing_barrier | 32/32 | f32
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = (float)l; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  out[l] = t[31 - l]; /*!*/
}
//== reduction_no_barrier | 32/32 | f1
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 16; s > 0; s >>= 1) {
    if (l < s)
      t[l] += t[l + s]; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  }
  if (l == 0) out[0] = t[0];
}
//== reuse_tile | 16/16 | f16 f64
KERNEL(__global float *out, __global const float *in) {
  __local float t[16];
  int l = get_local_id(0);
  float s = 0;
  for (int k = 0; k < 4; k++) {
    t[l] = in[k * 16 + l]; /*!*/
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[15 - l]; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  }
  out[l] = s;
}
//== shared_counter | 64/32 | i32*1
KERNEL(__global int *count) {
  {{count[0] = count[0] + 1;|atomic_inc(count);}} /*!*/
}
//== histogram | 64/32 | i32*8
KERNEL(__global int *bins) {
  int i = get_global_id(0);
  {{bins[i & 7] += 1;|atomic_add(&bins[i & 7], 1);}} /*!*/
}
//== local_flag | 32/32 | i32*32
KERNEL(__global int *out) {
  __local int pick;
  int l = get_local_id(0);
  if ({{1|l == 7}}) pick = l; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = pick;
}
//== neighbour_write | 64/32 | f64
KERNEL(__global float *a) {
  int i = get_global_id(0);
  float v = a[{{(i + 1) % 64|i}}]; /*!*/
  a[i] = v + 1.0f; /*!*/
}
//== same_cell | 64/32 | f32
KERNEL(__global float *a) {
  int i = get_global_id(0);
  {{|if (i < 32)}} a[i % 32] = (float)i; /*!*/
}
//== local_argument_race | 32/32 | f32 l128
KERNEL(__global float *out, __local float *t) {
  int l = get_local_id(0);
  t[l] = 3.0f; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  out[l] = t[(l + 1) & 31]; /*!*/
}
//== helper_race | 32/32 | f32
float other(__local float *t, int l) {
  return t[31 - l]; /*!*/
}
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = 1.0f; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  out[l] = other(t, l);
}
//== group_to_group | 64/32 | f64 f64
KERNEL(__global float *a, __global float *b) {
  int i = get_global_id(0);
  a[i] = 1.0f; /*!*/
  barrier(CLK_GLOBAL_MEM_FENCE);
  b[i] = a[{{63 - i|get_group_id(0) * 32 + 31 - get_local_id(0)}}]; /*!*/
}
//== scan_in_place | 32/32 | i32*32
KERNEL(__global int *out) {
  __local int t[32];
  int l = get_local_id(0);
  t[l] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 32; d <<= 1) {
    int v = l >= d ? t[l - d] : 0; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
    t[l] += v; /*!*/
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[l] = t[l];
}
//== atomic_and_plain | 32/32 | i32*1
KERNEL(__global int *out) {
  __local int total;
  int l = get_local_id(0);
  if (l == 0) total = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  {{total += l;|atomic_add(&total, l);}} /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) out[0] = total;
}
//== bytes | 64/32 | u8*64
KERNEL(__global uchar *a) {
  int i = get_global_id(0);
  a[{{i / 2|i}}] = (uchar)i; /*!*/
}
//== vector_overlap | 16/16 | f64
KERNEL(__global float *a) {
  int i = get_global_id(0);
  vstore4((float4)(i), 0, a + i * {{3|4}}); /*!*/
}
//== fence_of_the_other_memory | 32/32 | f32
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = (float)l; /*!*/
  barrier({{CLK_GLOBAL_MEM_FENCE|CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE}});
  out[l] = t[31 - l]; /*!*/
}
//== cleared_while_counted | 64/64 | i32*8
KERNEL(__global int *out) {
  __local int bins[8];
  int l = get_local_id(0);
  if (l == 0) for (int i = 0; i < 8; i++) bins[i] = 0;
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  atomic_inc(&bins[l & 7]); /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 8) out[l] = bins[l];
}
//== reduced_twice | 64/32 | f64 f64
static float total(__local float *t, float v) {
  int l = get_local_id(0);
  t[l] = v; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 16; s > 0; s >>= 1) {
    if (l < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float r = t[0]; /*!*/
  {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  return r;
}
KERNEL(__global float *out, __global const float *in) {
  __local float t[32];
  int i = get_global_id(0);
  float mean = total(t, in[i]) / 32;
  float d = in[i] - mean;
  out[i] = d * rsqrt(total(t, d * d) / 32 + 1.0f);
}
