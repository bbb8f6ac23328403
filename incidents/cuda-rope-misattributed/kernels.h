/* The kernels' launches. None of them looks at an error: that is the caller's part. */
#pragma once

enum { TILE = 64, SEQUENCE = 16 };

/* out = a * b; out is rows x cols, a is rows x inner. rows and cols are multiples of TILE. */
void gemm(float *out, const float *a, const float *b, int rows, int cols, int inner);
void rope(float *x, int rows, int heads, int head_dim, float base);
/* Each row looks at the rows before it in its own sequence of SEQUENCE rows. */
void attend(float *out, const float *q, const float *k, const float *v, int rows, int heads, int head_dim);
void silu(float *x, int count);
void add(float *y, const float *x, int count);
