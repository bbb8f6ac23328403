#include <hip/hip_runtime.h>

__global__ void scale(float *data, int count, float by)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= by;
}

void launch_scale(float *data, int count, float by, hipStream_t stream)
{
    hipLaunchKernelGGL(scale, dim3((count + 255) / 256), dim3(256), 0, stream, data, count, by);
}
