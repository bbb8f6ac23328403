//== local_tile | 16/16 | f16
KERNEL(__global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  t[l] = (float)l;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[{{l + 1|(l + 1) & 15}}]; /*!*/
}
//== local_write | 16/16 | f16
KERNEL(__global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  t[{{l + 1|l}}] = 1.0f; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[l {{? l : 1|}}];
}
//== local_rows | 8,8/8,8 | f64
KERNEL(__global float *out) {
  __local float t[8][8];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * 8 + x] = t[{{y + 1|y}}][x]; /*!*/
}
//== local_argument | 32/32 | f32 l128
KERNEL(__global float *out, __local float *t) {
  int l = get_local_id(0);
  t[l] = 2.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = t[{{l + 1|31 - l}}]; /*!*/
}
//== local_argument_write | 32/32 | f32 l124
KERNEL(__global float *out, __local float *t) {
  int l = get_local_id(0);
  {{|if (l < 31)}} t[l] = 2.0f; /*!*/
  out[l] = 1.0f;
}
//== local_helper | 16/16 | f16
float sum(__local const float *t, int n) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += t[i]; /*!*/
  return s;
}
KERNEL(__global float *out) {
  __local float t[16];
  int l = get_local_id(0);
  t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = sum(t, {{17|16}});
}
//== local_pointer | 4/4 | f4
KERNEL(__global float *out) {
  __local float t[4];
  __local float *p = t + {{1|0}};
  int l = get_local_id(0);
  p[l] = 1.0f; /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = 1.0f;
}
//== local_atomic | 16/16 | i32*16
KERNEL(__global int *out) {
  __local int bins[8];
  int l = get_local_id(0);
  if (l < 8) bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&bins[{{l|l & 7}}]); /*!*/
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = bins[l & 7];
}
//== reduction_stride | 32/32 | f1
KERNEL(__global float *out) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = {{32|16}}; s > 0; s >>= 1) {
    if (l < s)
      t[l] += t[l + s]; /*!*/
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[0] = t[0];
}
//== private_index | 8 | i32*8
KERNEL(__global int *out) {
  int v[4] = {1, 2, 3, 4};
  int i = get_global_id(0);
  out[i] = v[{{i|i & 3}}]; /*!*/
}
//== private_write | 5 | i32*5
KERNEL(__global int *out) {
  int v[4] = {0, 0, 0, 0};
  int i = get_global_id(0);
  v[{{i|i % 4}}] = 1; /*!*/
  out[i] = v[0];
}
//== private_loop | 1 | i32*1 i9
KERNEL(__global int *out, int n) {
  int v[8];
  for (int i = 0; i < {{n|8}}; i++)
    v[i] = i; /*!*/
  out[0] = v[3];
}
//== private_rows | 1 | i32*1 i3
KERNEL(__global int *out, int r) {
  int m[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  out[0] = m[{{r|r - 1}}][1]; /*!*/
}
//== private_helper | 1 | i32*1
int last(int *p, int n) {
  return p[n]; /*!*/
}
KERNEL(__global int *out) {
  int v[3] = {1, 2, 3};
  out[0] = last(v, {{3|2}});
}
//== private_struct | 1 | i32*1 i4
struct s { int k[4]; int n; };
KERNEL(__global int *out, int i) {
  struct s x = { {0, 1, 2, 3}, 9 };
  out[0] = x.k[{{i|i - 1}}]; /*!*/
}
//== async_length | 16/16 | f16 f15
KERNEL(__global float *out, __global const float *in) {
  __local float t[16];
  int l = get_local_id(0);
  event_t e = async_work_group_copy(t, in, {{16|15}}, 0); /*!*/
  wait_group_events(1, &e);
  out[l] = t[l < 15 ? l : 0];
}
