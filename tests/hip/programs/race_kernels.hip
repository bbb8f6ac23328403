#include <hip/hip_runtime.h>

__global__ void slow(int *x, int rounds)
{
    for (volatile int i = 0; i < rounds; i = i + 1)
        ;
    *x = 1;
}

void launch_slow(int *x, int rounds, hipStream_t stream)
{
    hipLaunchKernelGGL(slow, dim3(1), dim3(1), 0, stream, x, rounds);
}
