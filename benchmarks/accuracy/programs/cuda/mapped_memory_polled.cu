//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-access-during-kernel", "unordered-access"]
//: kernel = "publish"
//: plain = "exit"
//: fault = "The host reads zero-copy memory that a kernel writes, without waiting for the kernel."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void publish(int *mapped, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    mapped[threadIdx.x] = v == 11 ? 1 : 64;
}

int main()
{
    int *host, *device, sum = 0;
    cudaHostAlloc(&host, 64 * sizeof(int), cudaHostAllocMapped);
    cudaHostGetDevicePointer((void **)&device, host, 0);
    for (int i = 0; i < 64; ++i) host[i] = 0;
    publish<<<1, 64>>>(device, 8000000);
#ifdef TWIN
    cudaDeviceSynchronize();
#endif
    for (int i = 0; i < 64; ++i) sum += ((volatile int *)host)[i]; // FAULT
    printf("sum %d\n", sum);
    cudaDeviceSynchronize();
    cudaFreeHost(host);
    return sum == 64 * 64 ? 0 : 1;
}
