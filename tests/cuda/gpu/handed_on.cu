/* Correct programs whose blocks hand memory on: through the device's heap, or behind a fence of every thread. And a sum whose warps
 * read lanes that have returned. */
#include <cstring>

#include "check.h"

__global__ void lists(int *lengths)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 4; ++round) {
        int *list = (int *)malloc(4096);
        if (!list) return;
        for (int i = 0; i < 16; ++i) list[i * 64] = t + round;
        lengths[t] = list[64] == t + round ? 16 : 0;
        free(list);
    }
}

__device__ unsigned arrived;

__global__ void last_sums(const int *x, int *parts, int *out, int n)
{
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    parts[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    __threadfence(); /* each of the 256 threads */
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (unsigned i = 0; i < gridDim.x * blockDim.x; ++i) total += parts[i];
        *out = total;
    }
}

__global__ void tail_sum(const int *x, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "heap";
    const int n = 20000;
    int *x, *parts, *out, host = 0;
    MUST(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256u << 20));
    MUST(cudaMalloc(&x, n * sizeof *x));
    MUST(cudaMalloc(&parts, 64 * 256 * sizeof *parts));
    MUST(cudaMalloc(&out, sizeof *out));
    MUST(cudaMemset(out, 0, sizeof *out));
    int *ones = (int *)malloc(n * sizeof *ones);
    for (int i = 0; i < n; ++i) ones[i] = 1;
    MUST(cudaMemcpy(x, ones, n * sizeof *x, cudaMemcpyHostToDevice));
    if (!std::strcmp(how, "heap")) lists<<<16, 128>>>(parts);
    if (!std::strcmp(how, "fences")) last_sums<<<64, 256>>>(x, parts, out, n);
    if (!std::strcmp(how, "tail")) tail_sum<<<(n + 255) / 256, 256>>>(x, out, n - 13);
    MUST(cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
    std::printf("%s %d\n", how, host);
    return 0;
}
