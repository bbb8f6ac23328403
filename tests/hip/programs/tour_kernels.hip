#include <hip/hip_runtime.h>

#include "tour.h"

__global__ void mixed(float *out, const int *in, int count, double factor, Pair pair, char flag) __attribute__((used));
__global__ void mixed(float *out, const int *in, int count, double factor, Pair pair, char flag)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && pair.first < 0)  /* it is launched with made-up addresses */
        out[i] = (float)(in[i] * factor) + (float)pair.second + (float)flag;
}

__global__ void twice(float *x, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] *= 2.0f;
}

void launch_mixed(float *out, const int *in, int count, double factor, Pair pair, char flag)
{
    hipLaunchKernelGGL(mixed, dim3(2), dim3(64), 16, 0, out, in, count, factor, pair, flag);
}

void launch_twice(float *x, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(twice, dim3((count + 63) / 64), dim3(64), 0, stream, x, count);
}

const void *address_of_twice()
{
    return (const void *)twice;
}
