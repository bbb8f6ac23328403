//: class = "E4"
//: cause = ["null-pointer", "device-heap-exhausted"]
//: kernel = "build_lists"
//: launch = 1
//: plain = "exit"
//: fault = "Every thread takes 64 KiB from the device's heap of 8 MiB; malloc returns null and the kernel writes to it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void build_lists(int *lengths)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int *list = (int *)malloc(65536);
    for (int i = 0; i < 16; ++i) list[i * 512] = t; // FAULT
    lengths[t] = list[512] == t ? 16 : 0;
    free(list);
}

int main()
{
    int *lengths, host = 0;
#ifdef TWIN
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 512u << 20);
#endif
    cudaMalloc(&lengths, 2048 * sizeof(int));
    build_lists<<<16, 128>>>(lengths);
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        fprintf(stderr, "lists: %s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaMemcpy(&host, lengths, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d\n", host);
    return 0;
}
