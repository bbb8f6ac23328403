//== local_never_written | 16/16 | f16
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = 1.0f;
  {{|t[l + 16] = 2.0f;}}
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[l + 16]; /*!*/
}
//== accumulate_local | 16/16 | f16
KERNEL(__global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  {{|t[l] = 0.0f;}}
  t[l] += 1.0f; /*!*/
  out[l] = t[l];
}
//== local_argument_unset | 16/16 | f16 l64
KERNEL(__global float *out, __local float *t) {
  int l = get_local_id(0);
  if (l {{> 0|>= 0}}) t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[0]; /*!*/
}
//== half_filled | 16/16 | f16
KERNEL(__global float *out) {
  __local float4 t[16];
  int l = get_local_id(0);
  if (l < {{8|16}}) t[l] = (float4)(0.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[15 - l].x; /*!*/
}
//== fresh_buffer | 16 | U16 f16
KERNEL(__global float *scratch, __global float *out) {
  int i = get_global_id(0);
  {{|scratch[i] = 0.0f;}}
  out[i] = scratch[i]; /*!*/
}
//== accumulate_global | 16 | U16
KERNEL(__global float *a) {
  int i = get_global_id(0);
  {{|a[i] = 0.0f;}}
  a[i] += 1.0f; /*!*/
}
//== sparse_write | 16 | U16 f16
KERNEL(__global float *scratch, __global float *out) {
  int i = get_global_id(0);
  if (i {{% 2|>= 0}}) scratch[i] = 1.0f;
  out[i] = scratch[i]; /*!*/
}
//== partly_written_by_host | 16 | P16 f16
KERNEL(__global float *part, __global float *out) {
  int i = get_global_id(0);
  out[i] = part[{{i|i & 7}}]; /*!*/
}
//== helper_fresh | 8 | U8 f8
float get(__global const float *p, int i) {
  return p[i]; /*!*/
}
KERNEL(__global float *scratch, __global float *out) {
  int i = get_global_id(0);
  {{|scratch[i] = 1.0f;}}
  out[i] = get(scratch, i);
}
//== vload_fresh | 4 | U16 f4
KERNEL(__global float *scratch, __global float *out) {
  int i = get_global_id(0);
  vstore{{2((float2)|4((float4)}}(1.0f), i * {{2|1}}, scratch);
  out[i] = vload4(i, scratch).w; /*!*/
}
//== local_maximum | 32/32 | i32*1
KERNEL(__global int *out) {
  __local int most;
  {{|if (get_local_id(0) == 0) atomic_xchg(&most, -1);}}
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_max(&most, (int)get_local_id(0)); /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[0] = most;
}
