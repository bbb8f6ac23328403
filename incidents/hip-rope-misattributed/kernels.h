/* The kernels' launches. None of them looks at an error: that is the caller's part. */
#pragma once

/* out = a * b; out is rows x cols, a is rows x inner. */
void gemm(float *out, const float *a, const float *b, int rows, int cols, int inner);
/* Turns the pairs of each head by its row's angle, in place. */
void rope(float *x, int rows, int heads, int head_dim, float base);
