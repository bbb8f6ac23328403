//: class = "B4"
//: cause = ["host-memory-changed-under-copy", "host-read-before-copy-done"]
//: call = "cudaMemcpyAsync"
//: plain = "exit"
//: fault = "The host reads the destination of an asynchronous copy without waiting for it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void count_down(int *result, int rounds)
{
    unsigned v = 1;
    for (int i = 0; i < rounds; ++i) v = v * 1664525u + 1013904223u;
    result[threadIdx.x] = v ? 4711 : v;
}

int main()
{
    int *device, *pinned;
    cudaStream_t s;
    if (cudaMalloc(&device, 128) || cudaMallocHost(&pinned, 128) || cudaStreamCreate(&s)) return 2;
    pinned[0] = 0;
    count_down<<<1, 32, 0, s>>>(device, 20000000);
    cudaMemcpyAsync(pinned, device, 128, cudaMemcpyDeviceToHost, s);
#ifdef TWIN
    cudaStreamSynchronize(s);
#endif
    int value = pinned[0]; // FAULT
    printf("result %d\n", value);
    cudaStreamDestroy(s);
    cudaDeviceSynchronize();
    return value == 4711 ? 0 : 1;
}
