#include <hip/hip_runtime.h>

__global__ void shift(float *data, int count, float by)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += by;
}

void launch_shift(float *data, int count, float by)
{
    hipLaunchKernelGGL(shift, dim3((count + 255) / 256), dim3(256), 0, 0, data, count, by);
}
