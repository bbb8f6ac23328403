#include <hip/hip_runtime.h>

__global__ void square(const float *in, float *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * in[i];
}

void launch_square(const float *in, float *out, int count)
{
    hipLaunchKernelGGL(square, dim3((count + 63) / 64), dim3(64), 0, 0, in, out, count);
}
