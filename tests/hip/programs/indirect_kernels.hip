#include <hip/hip_runtime.h>

__global__ void gather(int *out, const int *table, const int *index, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = table[index[i]];
}

void launch_gather(int *out, const int *table, const int *index, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(gather, dim3((count + 255) / 256), dim3(256), 0, stream, out, table, index, count);
}
