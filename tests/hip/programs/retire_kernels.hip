#include <hip/hip_runtime.h>

__global__ void accumulate(const float *batch, float *sum, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] += batch[i];
}

void launch_accumulate(const float *batch, float *sum, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(accumulate, dim3((count + 255) / 256), dim3(256), 0, stream, batch, sum, count);
}
