#include <hip/hip_runtime.h>

__global__ void add(float *y, const float *x, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] += x[i];
}

void launch_add(float *y, const float *x, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(add, dim3((count + 63) / 64), dim3(64), 0, stream, y, x, count);
}
