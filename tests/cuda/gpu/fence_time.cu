/* Times of a kernel that reads and writes 256 MB, and of pairs of an allocation and its free: the medians, in microseconds. */
#include <algorithm>
#include <chrono>

#include "check.h"

enum { TIMES = 31, PAIRS = 200 };

__global__ void scale(float *data, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        data[i] = data[i] * 1.5f;
}

static double kernel_us(float *data, size_t n)
{
    cudaEvent_t begin, end;
    float took[TIMES];
    MUST(cudaEventCreate(&begin));
    MUST(cudaEventCreate(&end));
    for (int i = 0; i < TIMES; i++) {
        MUST(cudaEventRecord(begin));
        scale<<<1024, 256>>>(data, n);
        MUST(cudaEventRecord(end));
        MUST(cudaEventSynchronize(end));
        MUST(cudaEventElapsedTime(&took[i], begin, end));
    }
    std::sort(took, took + TIMES);
    return took[TIMES / 2] * 1000.0;
}

static double pair_us(size_t bytes)
{
    static double took[PAIRS];
    for (double &one : took) {
        void *memory;
        auto begin = std::chrono::steady_clock::now();
        MUST(cudaMalloc(&memory, bytes));
        MUST(cudaFree(memory));
        one = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    }
    std::sort(took, took + PAIRS);
    return took[PAIRS / 2];
}

int main()
{
    const size_t bytes = 256u << 20;
    float *data;
    MUST(cudaMalloc(&data, bytes));
    MUST(cudaMemset(data, 0, bytes));
    std::printf("kernel %.2f\n", kernel_us(data, bytes / sizeof *data));
    std::printf("pair_small %.2f\n", pair_us(1000));
    std::printf("pair_large %.2f\n", pair_us(bytes));
    return 0;
}
