// Blocks count into one array: without atomics updates are lost; with them (the word "atomic") none is. "fenced" hands each
// block's sum to the last block with a fence, "unfenced" without. "nan" divides by a sum that can be zero, "number" does not.
#include <cstdio>
#include <cstring>

#include "check.h"

__global__ void tally(const int *votes, int *counts, int n, bool atomic)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (atomic)
        atomicAdd(&counts[votes[i]], 1);
    else
        counts[votes[i]] += 1;
}

__global__ void hand_over(int *sums, unsigned *arrived, int *total, bool fenced)
{
    sums[blockIdx.x] = (int)blockIdx.x;
    if (fenced) __threadfence();
    if (atomicAdd(arrived, 1) != gridDim.x - 1) return;
    if (fenced) __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += sums[b];
    *total = sum;
}

__global__ void normalise(float *x, float sum) { x[threadIdx.x] = x[threadIdx.x] / sum; }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const int n = 1 << 16, blocks = 200;
    int *votes, *counts;
    MUST(cudaMalloc(&votes, n * sizeof(int)));
    MUST(cudaMalloc(&counts, (blocks + 2) * sizeof(int)));
    MUST(cudaMemset(votes, 0, n * sizeof(int)));
    MUST(cudaMemset(counts, 0, (blocks + 2) * sizeof(int)));
    if (!strcmp(how, "nan") || !strcmp(how, "number"))
        normalise<<<1, 32>>>((float *)counts, how[1] == 'a' ? 0.0f : 2.0f);
    else if (strstr(how, "fenced"))
        hand_over<<<blocks, 1>>>(counts, (unsigned *)counts + blocks, counts + blocks + 1, !strcmp(how, "fenced"));
    else
        tally<<<n / 256, 256>>>(votes, counts, n, !strcmp(how, "atomic"));
    MUST(cudaDeviceSynchronize());
    puts("done");
    return 0;
}
