//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "block_sum"
//: launch = 1
//: plain = "sometimes"
//: fault = "The tree reduction has no barrier between its levels."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void block_sum(const int *x, int *sums)
{
    __shared__ int s[1024];
    s[threadIdx.x] = x[blockIdx.x * 1024 + threadIdx.x];
    __syncthreads();
    for (int half = 512; half; half >>= 1) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
#ifdef TWIN
        __syncthreads();
#endif
    } // FAULT
    if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}

int main()
{
    const int blocks = 2000;
    std::vector<int> ones(blocks * 1024, 1), sums(blocks);
    int *x, *d_sums;
    cudaMalloc(&x, ones.size() * sizeof(int));
    cudaMalloc(&d_sums, blocks * sizeof(int));
    cudaMemcpy(x, ones.data(), ones.size() * sizeof(int), cudaMemcpyHostToDevice);
    block_sum<<<blocks, 1024>>>(x, d_sums);
    cudaMemcpy(sums.data(), d_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost);
    long long total = 0;
    for (int s : sums) total += s;
    printf("%lld\n", total);
    return total == blocks * 1024LL ? 0 : 1;
}
