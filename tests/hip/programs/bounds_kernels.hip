#include <hip/hip_runtime.h>

__global__ void __launch_bounds__(256) softplus(float *data, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += 1;
}

void launch_softplus(float *data, int count, int block, hipStream_t stream)
{
    hipLaunchKernelGGL(softplus, dim3((count + block - 1) / block), dim3(block), 0, stream, data, count);
}
