/* Launches with a pointer that was freed. It "works". */
#include "check.h"

__global__ void fill(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = i;
}

int main()
{
    const int n = 1000;
    int *out, *other;
    MUST(cudaMalloc(&out, n * sizeof *out));
    MUST(cudaMalloc(&other, n * sizeof *other));
    MUST(cudaFree(out));
    fill<<<4, 256>>>(out, n);
    return told("sync", cudaDeviceSynchronize());
}
