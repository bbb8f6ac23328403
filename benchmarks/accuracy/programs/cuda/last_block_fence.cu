//: class = "C2"
//: cause = ["missing-memory-fence", "race-in-kernel"]
//: kernel = "sum_all"
//: launch = 1
//: argument = 1
//: plain = "sometimes"
//: fault = "The last block reads the partial sums of the others without a fence before the counter."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__device__ unsigned arrived;

__global__ void sum_all(const int *x, int *partial, long long *total)
{
    __shared__ bool last;
    int sum = 0;
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) sum += x[blockIdx.x * 4096 + i];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
#ifdef TWIN
        __threadfence();
#endif
        last = atomicAdd(&arrived, 1) == gridDim.x - 1; // FAULT
    }
    __syncthreads();
    if (!last || threadIdx.x) return;
#ifdef TWIN
    __threadfence();
    const volatile int *sums = partial;
#else
    const int *sums = partial;
#endif
    long long all = 0;
    for (int b = 0; b < gridDim.x; ++b) all += sums[b];
    *total = all;
}

int main()
{
    const int blocks = 1056;
    int *x, *partial;
    long long *total, host = -1;
    cudaMalloc(&x, blocks * 4096 * sizeof(int));
    cudaMalloc(&partial, blocks * sizeof(int));
    cudaMalloc(&total, sizeof *total);
    std::vector<int> ones(blocks * 4096, 1);
    cudaMemcpy(x, ones.data(), ones.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(partial, 0, blocks * sizeof(int));
    sum_all<<<blocks, 32>>>(x, partial, total);
    if (cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost)) return 2;
    printf("%lld\n", host);
    return host == blocks * 4096LL ? 0 : 1;
}
