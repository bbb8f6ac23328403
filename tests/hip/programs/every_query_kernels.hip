#include <hip/hip_runtime.h>

__global__ void store(int *x, int from, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[from + i] = i;
}

void launch_store(int *x, int from, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(store, dim3(8), dim3(64), 0, stream, x, from, count);
}

const void *address_of_store()
{
    return (const void *)store;
}
