/* Recursion on the device that outgrows its stack. */
#include "check.h"

__device__ __noinline__ int deep(volatile int *out, int n)
{
    volatile int big[64];
    big[n % 64] = n;
    out[0] = big[(n + 1) % 64];
    return n == 0 ? 0 : 1 + deep(out, n - 1) + big[n % 64];
}

__global__ void start(int *out, int n)
{
    out[1] = deep(out, n);
}

int main()
{
    int *out;
    MUST(cudaMalloc(&out, 4096));
    start<<<1, 1>>>(out, 100000);
    return told("sync", cudaDeviceSynchronize());
}
