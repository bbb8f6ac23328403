#include <hip/hip_runtime.h>

__global__ void spmv(const int *rows, const int *cols, const float *vals, const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++)
        sum += vals[k] * x[cols[k]];
    y[i] = sum;
}

void launch_spmv(const int *rows, const int *cols, const float *vals, const float *x, float *y, int n)
{
    hipLaunchKernelGGL(spmv, dim3(n / 64), dim3(64), 0, 0, rows, cols, vals, x, y, n);
}
