//: class = "C3"
//: cause = ["barrier-misuse", "race-in-kernel", "hang"]
//: kernel = "compact"
//: launch = 1
//: plain = "sometimes"
//: fault = "The barrier is inside the branch that only threads with a positive value take."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void compact(const int *x, int *kept, int *count)
{
    __shared__ int used;
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    int value = x[threadIdx.x];
#ifdef TWIN
    int slot = value > 0 ? atomicAdd(&used, 1) : -1;
    __syncthreads();
    if (value > 0) kept[slot] = value;
#else
    if (value > 0) {
        int slot = atomicAdd(&used, 1);
        __syncthreads(); // FAULT
        kept[slot] = value;
    }
#endif
    __syncthreads();
    if (threadIdx.x == 0) *count = used;
}

int main()
{
    int x[256], kept[256], count = 0, *dx, *dk, *dc;
    for (int i = 0; i < 256; ++i) x[i] = i % 3 - 1;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&dk, sizeof kept);
    cudaMalloc(&dc, sizeof count);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    compact<<<1, 256>>>(dx, dk, dc);
    cudaError_t e = cudaMemcpy(&count, dc, sizeof count, cudaMemcpyDeviceToHost);
    printf("%d kept (%s)\n", count, cudaGetErrorString(e));
    return count == 85 ? 0 : 1;
}
