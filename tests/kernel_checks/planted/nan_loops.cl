//== root_of_negative | 8 | f8
KERNEL(__global float *out) {
  int i = get_global_id(0);
  float v = sqrt((float)(i {{- 4|}})); /*!*/
  out[i] = v;
}
//== zero_by_zero | 4 | f4 f4
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = in[i] / {{in[i]|(in[i] + 1.0f)}}; /*!*/
}
//== log_of_zero | 4 | f4 f4
KERNEL(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  float v = log(in[i] {{|+ 1.0f}}); /*!*/
  out[i] = v;
}
//== vector_nan | 2 | f8 f8
KERNEL(__global const float4 *in, __global float4 *out) {
  int i = get_global_id(0);
  float4 v = (float4)(1.0f) / {{in[i]|(in[i] + 2.0f)}}; /*!*/
  out[i] = v;
}
//== exp_overflow | 1 | f1
KERNEL(__global float *out) {
  float v = exp({{100.0f|10.0f}} + out[0]); /*!*/
  out[0] = v;
}
//== endless_while | 4 | i32*4
KERNEL(__global int *a) {
  int k = 0;
  while (k {{>= 0|< 10}}) { /*!*/
    k = (k + 1) & 0xff;
  }
  a[get_global_id(0)] = k;
}
//== endless_for | 4 | i32*4
KERNEL(__global int *a) {
  int k = 0;
  for (;;) { /*!*/
    k = (k + 1) & 0xff;
    if (k == {{300|30}}) break;
  }
  a[get_global_id(0)] = k;
}
//== endless_do | 4 | i32*4
KERNEL(__global int *a) {
  int k = 1;
  do {
    k ^= 1;
  } while (k {{< 2|> 2}}); /*!*/
  a[get_global_id(0)] = k;
}
//== nan_in_place | 32/32 | f32
KERNEL(__global float *s) {
  int i = get_global_id(0);
  float sum = {{0.0f|1.0f}} + s[i];
  s[i] /= sum; /*!*/
}
//== nan_from_memory | 32/32 | f32 f32
KERNEL(__global float *s, __global float *out) {
  int i = get_global_id(0);
  s[i] = {{s[i] / s[i]|as_float(0x7fc00000)}}; /*!*/
  out[i] = s[i] * 2.0f;
  out[i] += s[i];
}
