/* Writes one element past the end, into the neighbour. It "works". */
#include "check.h"

__global__ void fill(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        out[i] = i;
}

int main()
{
    const int n = 1024;
    int *out, *neighbour;
    MUST(cudaMalloc(&out, n * sizeof *out));
    MUST(cudaMalloc(&neighbour, n * sizeof *neighbour));
    fill<<<(n + 256) / 256, 256>>>(out, n);
    return told("sync", cudaDeviceSynchronize());
}
