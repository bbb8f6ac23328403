#include <hip/hip_runtime.h>

__global__ void poke(int *x, long at, int value)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        x[at] = value;
}

__global__ void follow(int **table, long at, int value)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        table[0][at] = value;
}

__global__ void add(const int *a, const int *b, int *sum, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

void launch_poke(int *x, long at, int value, hipStream_t stream)
{
    hipLaunchKernelGGL(poke, dim3(1), dim3(64), 0, stream, x, at, value);
}

void launch_follow(int **table, long at, int value, hipStream_t stream)
{
    hipLaunchKernelGGL(follow, dim3(1), dim3(64), 0, stream, table, at, value);
}

void launch_add(const int *a, const int *b, int *sum, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(add, dim3(2), dim3(64), 0, stream, a, b, sum, count);
}
