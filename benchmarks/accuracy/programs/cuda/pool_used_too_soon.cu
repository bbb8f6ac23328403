//: class = "B2"
//: group = "order"
//: cause = ["use-before-allocation", "unordered-access"]
//: kernel = "write_early"
//: call = ["cudaMallocAsync"]
//: other = ["cudaMallocAsync", "write_early", "last_user"]
//: plain = "exit"
//: fault = "Memory of stream A's pool is used on stream B before A has reached the allocation: its last user still runs."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void last_user(int *x, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    x[threadIdx.x] = v == 2 ? 0 : -5;
}

__global__ void write_early(int *x) { x[threadIdx.x] = 12; }

int main()
{
    int *first, *second, host[128], wrong = 0;
    cudaStream_t a, b;
    cudaEvent_t allocated;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&allocated);
    cudaMallocAsync(&first, sizeof host, a);
    cudaStreamSynchronize(a);
    last_user<<<1, 128, 0, a>>>(first, 8000000);
    cudaFreeAsync(first, a);
    cudaMallocAsync(&second, sizeof host, a); // takes the place of the first
#ifdef TWIN
    cudaEventRecord(allocated, a);
    cudaStreamWaitEvent(b, allocated, 0);
#endif
    write_early<<<1, 128, 0, b>>>(second); // FAULT
    cudaDeviceSynchronize();
    cudaMemcpy(host, second, sizeof host, cudaMemcpyDeviceToHost);
    for (int v : host) wrong += v != 12;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
