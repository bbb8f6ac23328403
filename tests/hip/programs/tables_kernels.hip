#include <hip/hip_runtime.h>

__global__ void gather(const int *const *rows, const int *index, int *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = rows[i % 4][index[i]];
}

void launch_gather(const int *const *rows, const int *index, int *out, int count)
{
    hipLaunchKernelGGL(gather, dim3((count + 63) / 64), dim3(64), 0, 0, rows, index, out, count);
}
