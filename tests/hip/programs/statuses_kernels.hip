#include <hip/hip_runtime.h>

__global__ void flag(const float *x, int *flags, int n, float limit)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > limit)
        flags[i] = 1;
}

__global__ void relax(const float *from, float *to, const float *rhs, int n, float omega)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float left = i ? from[i - 1] : 0, right = i < n - 1 ? from[i + 1] : 0;
    to[i] = (1 - omega) * from[i] + omega * 0.5f * (left + right + rhs[i]);
}

__global__ void compare(const int *a, const int *b, int *count, int n, int offset)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (a[i + offset] != b[i + offset])
            count[0] += 1;
}

void launch_flag(const float *x, int *flags, int n, float limit)
{
    hipLaunchKernelGGL(flag, dim3((n + 63) / 64), dim3(64), 0, 0, x, flags, n, limit);
}

void launch_relax(const float *from, float *to, const float *rhs, int n, float omega)
{
    hipLaunchKernelGGL(relax, dim3((n + 63) / 64), dim3(64), 0, 0, from, to, rhs, n, omega);
}

void launch_compare(const int *a, const int *b, int *count, int n, int offset)
{
    hipLaunchKernelGGL(compare, dim3(n / 256), dim3(256), 0, 0, a, b, count, n, offset);
}
