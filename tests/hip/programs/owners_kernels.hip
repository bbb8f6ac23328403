#include <hip/hip_runtime.h>

__global__ void axpy(float *y, const float *x, float a, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] += a * x[i];
}

void launch_axpy(float *y, const float *x, float a, int count)
{
    hipLaunchKernelGGL(axpy, dim3((count + 255) / 256), dim3(256), 0, 0, y, x, a, count);
}
