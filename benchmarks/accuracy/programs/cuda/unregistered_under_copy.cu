//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy"]
//: call = "cudaMemcpyAsync"
//: plain = "exit"
//: fault = "The destination of a pending read-back is cleared for reuse before the copy has run."
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

__global__ void slow_fill(int *x, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    x[threadIdx.x] = v == 1 ? 0 : 3;
}

int main()
{
    const size_t bytes = 64 * sizeof(int);
    int *device;
    int *page = (int *)aligned_alloc(4096, 4096);
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&device, bytes);
    cudaHostRegister(page, 4096, cudaHostRegisterDefault);
    slow_fill<<<1, 64, 0, s>>>(device, 8000000);
    cudaMemcpyAsync(page, device, bytes, cudaMemcpyDeviceToHost, s);
#ifdef TWIN
    cudaStreamSynchronize(s);
#endif
    int answer = page[0];
    memset(page, 0, bytes); // FAULT
    cudaStreamSynchronize(s);
    cudaHostUnregister(page);
    printf("answer %d\n", answer);
    free(page);
    return answer == 3 ? 0 : 1;
}
