#include <hip/hip_runtime.h>

__global__ void total_i32(const int *frame, long *total, int count)
{
    for (int i = 0; i < count; i++)
        *total += frame[i];
}

void launch_total(const int *frame, long *total, int count, hipStream_t stream)
{
    hipLaunchKernelGGL(total_i32, dim3(1), dim3(1), 0, stream, frame, total, count);
}
