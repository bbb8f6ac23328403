#include <hip/hip_runtime.h>

#include "kernels.h"

enum { THREADS = 64 };

/* One thread for each value of the output. */
__global__ void gemm_f32(float *out, const float *a, const float *b, int rows, int cols, int inner)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols)
        return;
    const int row = i / cols, col = i % cols;
    float sum = 0.0f;
    for (int k = 0; k < inner; k++)
        sum += a[row * inner + k] * b[k * cols + col];
    out[i] = sum;
}

__global__ void rope_f32(float *x, int rows, int heads, int head_dim, float base)
{
    const int half = head_dim / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * heads * half)
        return;
    const int pair = i % half, head = i / half % heads, row = i / (half * heads);
    const float angle = (float)row * powf(base, -2.0f * pair / head_dim);
    float *p = x + (row * heads + head) * head_dim + pair;
    const float first = p[0], second = p[half];
    p[0] = first * cosf(angle) - second * sinf(angle);
    p[half] = first * sinf(angle) + second * cosf(angle);
}

static int blocks(int count)
{
    return (count + THREADS - 1) / THREADS;
}

void gemm(float *out, const float *a, const float *b, int rows, int cols, int inner)
{
    hipLaunchKernelGGL(gemm_f32, dim3(blocks(rows * cols)), dim3(THREADS), 0, 0, out, a, b, rows, cols, inner);
}

void rope(float *x, int rows, int heads, int head_dim, float base)
{
    hipLaunchKernelGGL(rope_f32, dim3(blocks(rows * heads * head_dim / 2)), dim3(THREADS), 0, 0, x, rows, heads, head_dim,
                       base);
}
