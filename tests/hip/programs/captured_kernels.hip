#include <hip/hip_runtime.h>

#include "captured.h"

__global__ void add(const float *x, const float *y, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] + y[i];
}

__global__ void follow(float **table, long at, float value)
{
    table[at / 2][at] = value;
}

__global__ void scaled(View view, float *sum)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.count)
        view.out[i] = view.values[i] * view.scale;
    if (i == 0)
        sum[0] = view.values[1] + view.values[2];
}

extern "C" __device__ __attribute__((visibility("default"))) float weights[4] = { 1, 2, 3, 4 };

__global__ void weighted(const float *x, float *out)
{
    out[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x];
    weights[threadIdx.x] += 1;
}

const void *address_of_weights()
{
    return (const void *)weights;
}

void launch_weighted(const float *x, float *out)
{
    hipLaunchKernelGGL(weighted, dim3(1), dim3(4), 0, 0, x, out);
}

extern "C" __global__ void sample(float *out, unsigned long texture)
{
    out[0] = texture ? 1.0f : 2.0f;
}

const void *address_of_sample()
{
    return (const void *)sample;
}

void launch_add(const float *x, const float *y, float *out, int n, hipStream_t stream)
{
    hipLaunchKernelGGL(add, dim3((n + 255) / 256), dim3(256), 0, stream, x, y, out, n);
}

void launch_follow(float **table, long at, float value)
{
    hipLaunchKernelGGL(follow, dim3(1), dim3(1), 0, 0, table, at, value);
}

void launch_scaled(View view, float *sum)
{
    hipLaunchKernelGGL(scaled, dim3((view.count + 63) / 64), dim3(64), 0, 0, view, sum);
}

void launch_sample(float *out, unsigned long texture)
{
    hipLaunchKernelGGL(sample, dim3(1), dim3(1), 0, 0, out, texture);
}
