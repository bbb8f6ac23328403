#include <hip/hip_runtime.h>

__global__ void axpy(float *y, float a, const float *x, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] += a * x[i];
}

void launch_axpy(float *y, float a, const float *x, int count)
{
    hipLaunchKernelGGL(axpy, dim3((count + 63) / 64), dim3(64), 0, 0, y, a, x, count);
}
