#include <hip/hip_runtime.h>

__global__ void ramp(float *data, long count, float step)
{
    const long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = i * step;
}
