#include <hip/hip_runtime.h>

#include "kernels.h"

enum { THREADS = 64 };

__global__ void scale_f32(float *x, int count, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] *= factor;
}

void scale(float *x, int count, float factor)
{
    hipLaunchKernelGGL(scale_f32, dim3((count + THREADS - 1) / THREADS), dim3(THREADS), 0, 0, x, count, factor);
}
