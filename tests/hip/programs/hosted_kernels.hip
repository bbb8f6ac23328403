#include <hip/hip_runtime.h>

__global__ void twice(int *x, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        x[i] *= 2;
}

void twice_on(int *x, int n)
{
    hipLaunchKernelGGL(twice, dim3(n / 64), dim3(64), 0, 0, x, n);
}
