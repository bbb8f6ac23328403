//== in_branch | 32/32 | f32
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = 1.0f;
  if ({{l < 16|out != 0}}) {
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
  }
  out[l] = t[l];
}
//== early_return | 64/32 | f40 i40
KERNEL(__global float *out, int n) {
  __local float t[32];
  int i = get_global_id(0), l = get_local_id(0);
  {{if (i >= n) return;|}}
  t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE); /*!*/
  if (i < n) out[i] = t[l];
}
//== loop_count | 16/16 | f16
KERNEL(__global float *out) {
  int l = get_local_id(0);
  for (int k = 0; k < {{l + 1|16}}; k++) {
    out[l] = (float)k;
    barrier(CLK_GLOBAL_MEM_FENCE); /*!*/
  }
}
//== loop_break | 16/16 | f16
KERNEL(__global float *out) {
  int l = get_local_id(0);
  for (int k = 0; k < 4; k++) {
    if (k == {{l|3}}) break;
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
    out[l] = (float)k;
  }
}
//== helper_barrier | 16/16 | f16
void sync_all(__local float *t, int l) {
  t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE); /*!*/
}
KERNEL(__global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  if ({{l & 1|out != 0}})
    sync_all(t, l); /*!*/
  out[l] = 1.0f;
}
//== while_data | 8/8 | i32*8=3,3,3,3,3,3,3,4
KERNEL(__global int *a) {
  int l = get_local_id(0);
  int n = {{a[l]|3}};
  while (n > 0) {
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
    n--;
  }
  a[l] = n;
}
//== else_only | 16/16 | f16
KERNEL(__global float *out) {
  int l = get_local_id(0);
  if (l {{== 3|> 100}}) out[l] = 0.0f;
  else {
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
    out[l] = 1.0f;
  }
}
//== continue_past | 8/8 | f8
KERNEL(__global float *out) {
  int l = get_local_id(0);
  for (int k = 0; k < 3; k++) {
    if ({{l == k|k > 5}}) continue;
    barrier(CLK_LOCAL_MEM_FENCE); /*!*/
  }
  out[l] = 1.0f;
}
