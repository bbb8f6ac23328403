//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "tally"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "Votes in global memory are counted without atomics."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void tally(const int *votes, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#ifdef TWIN
    atomicAdd(&counts[votes[i]], 1);
#else
    counts[votes[i]] += 1; // FAULT
#endif
}

int main()
{
    const int n = 100000, parties = 5;
    static int votes[n];
    int counts[parties], sum = 0, *d_votes, *d_counts;
    for (int i = 0; i < n; ++i) votes[i] = i % parties;
    cudaMalloc(&d_votes, sizeof votes);
    cudaMalloc(&d_counts, sizeof counts);
    cudaMemcpy(d_votes, votes, sizeof votes, cudaMemcpyHostToDevice);
    cudaMemset(d_counts, 0, sizeof counts);
    tally<<<(n + 255) / 256, 256>>>(d_votes, d_counts, n);
    cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost);
    for (int c : counts) sum += c;
    printf("%d votes counted\n", sum);
    return sum == n ? 0 : 1;
}
