//== division | 8 | i32*8=1,2,3,4,5,0,7,8 i32*8
KERNEL(__global const int *d, __global int *out) {
  int i = get_global_id(0);
  out[i] = 100 / {{d[i]|max(d[i], 1)}}; /*!*/
}
//== modulo | 8 | i32*8 i0
KERNEL(__global int *out, int n) {
  int i = get_global_id(0);
  out[i] = i % {{n|(n + 3)}}; /*!*/
}
//== unsigned_division | 4 | i32*4 i0
KERNEL(__global uint *out, uint n) {
  out[get_global_id(0)] = 7u / {{n|(n ? n : 1u)}}; /*!*/
}
//== compound_division | 4 | i32*4 i0
KERNEL(__global int *out, int n) {
  int v = 10;
  v /= {{n|n + 2}}; /*!*/
  out[get_global_id(0)] = v;
}
//== helper_division | 4 | i32*4 i0
int mean(int total, int n) {
  return total / n; /*!*/
}
KERNEL(__global int *out, int n) {
  out[get_global_id(0)] = mean(100, n {{|+ 1}});
}
//== long_division | 4 | i32*4 i0
KERNEL(__global int *out, int n) {
  long d = n {{|+ 4}};
  out[get_global_id(0)] = (int)(1000L / d); /*!*/
}
//== row_product | 4 | f64 i70000
KERNEL(__global float *a, int pitch) {
  int y = {{40000|0}} + get_global_id(0);
  if (pitch < 0) a[0] = 1.0f;
  int at = y * pitch; /*!*/
  if (at >= 0 && at < 64) a[at] = 1.0f;
}
//== index_product | 2 | f64 i65536
KERNEL(__global float *a, int n) {
  int i = get_global_id(0) {{+ 32768|* 0}};
  int k = i * n + (i & 1); /*!*/
  a[k & 63] = 1.0f;
}
//== sum_overflow | 1 | f16 i2147483640
KERNEL(__global float *a, int base) {
  int k = base + {{100|0}}; /*!*/
  a[k & 15] = 2.0f;
}
//== cast_alignment | 4 | f32
KERNEL(__global float *a) {
  int i = get_global_id(0);
  __global float4 *v = (__global float4 *)(a + {{1|0}});
  v[i] = (float4)(1.0f); /*!*/
}
//== byte_to_int | 4 | u8*64 i32*4
KERNEL(__global uchar *a, __global int *out) {
  int i = get_global_id(0);
  out[i] = *(__global int *)(a + i * 4 + {{1|0}}); /*!*/
}
//== packed_double | 2 | f16 f2
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
KERNEL(__global float *a, __global float *out) {
  int i = get_global_id(0);
  __global double *d = (__global double *)(a + {{1|2}});
  out[i] = (float)d[i]; /*!*/
}
//== local_cast | 4/4 | f4
KERNEL(__global float *out) {
  __local float t[20];
  int l = get_local_id(0);
  for (int k = l; k < 20; k += 4) t[k] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  __local float2 *p = (__local float2 *)(t + {{1|2}});
  out[l] = p[l].x; /*!*/
}
