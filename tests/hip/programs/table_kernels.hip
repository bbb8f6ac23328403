#include <hip/hip_runtime.h>

__global__ void map(const unsigned char *in, const int *table, int *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = table[in[i]];
}

void launch_map(const unsigned char *in, const int *table, int *out, int count)
{
    hipLaunchKernelGGL(map, dim3((count + 255) / 256), dim3(256), 0, 0, in, table, out, count);
}
