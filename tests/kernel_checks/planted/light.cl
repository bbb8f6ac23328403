//== bounds_index_from_memory | 64/16 | f64 f64 i32*1=4
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  if (i < {{64|60}})
    out[i] = in[at[0] + i]; /*!*/
}
//== bounds_second_place_too | 64/16 | f64 f64 i32*2=4,0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  if (i < 60) out[i] = in[at[0] + i];
  if (i < {{60|56}}) out[i] += in[at[0] + i + 4 + at[1]]; /*!*/
}
//== uninit_read_of_result | 64/16 | U64 f64 i32*1=0
KERNEL(__global float *out, __global const float *in, __global const int *at) {
  int i = get_global_id(0);
  out[i] {{+=|=}} in[at[0] + i]; /*!*/
}
//== uninit_half_of_input | 64/16 | P64 f64 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  if (i < {{64|32}}) out[i] = in[at[0] + i]; /*!*/
}
//== uninit_part_of_tile | 32/8 | f32 f32 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  __local float tile[{{16|8}}];
  int l = get_local_id(0), i = get_global_id(0);
  tile[l] = in[at[0] + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[{{15|7}} - l]; /*!*/
}
//== uninit_tile_skipped | 32/8 | f32 f32 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  __local float tile[8];
  int l = get_local_id(0), i = get_global_id(0);
  for (int k = 0; k < 1; k++) {
    {{if (l == 3) continue;|}}
    tile[l] = in[at[0] + i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[7 - l]; /*!*/
}
//== uninit_scalar_of_one | 16/8 | f16 i32*1=0
KERNEL(__global float *out, __global const int *at) {
  __local float first;
  if (get_local_id(0) == {{9|0}}) first = at[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = first; /*!*/
}
//== race_narrow_index | 512/64 | f512 f512 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  {{uchar|int}} i = get_global_id(0);
  out[i] = in[at[0] + get_global_id(0)] + get_global_id(0); /*!*/
}
//== race_inner_name | 64/16 | f64 f64 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  out[i] = in[at[0] + i]; /*!*/
  { int j = {{i / 2|i}}; { int i = j; out[i] = in[at[0] + i] + get_global_id(0); } } /*!*/
}
//== race_one_buffer_twice | 64/16 | f65 =0 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  out[i] = in[at[0] + i + {{1|0}}] * 2.0f; /*!*/
}
//== race_second_dimension | 16,4/16,1 | f64 f64 i32*1=0
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  int i = get_global_id(0);
  out[i{{| + 16 * get_global_id(1)}}] = in[at[0] + i] + get_global_id(1); /*!*/
}
//== race_no_barrier_behind_tile | 32/8 | f32 f32 i32*1=4
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  __local float tile[8];
  int l = get_local_id(0);
  for (int k = 0; k < at[0]; k++) {
    tile[l] = in[get_global_id(0)] + k; /*!*/
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] += tile[7 - l]; /*!*/
    {{|barrier(CLK_LOCAL_MEM_FENCE);}}
  }
}
//== race_helper_writes | 32/8 | f32 f32 i32*1=0
void put(__local float *p, int at, float value) { p[at] = value; } /*!*/
KERNEL(__global const float *in, __global float *out, __global const int *at) {
  __local float tile[8];
  int l = get_local_id(0), i = get_global_id(0);
  tile[l] = in[at[0] + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  put(tile, {{l / 2|l}}, i);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[7 - l];
}
