//: class = "A3"
//: cause = ["index-overflow"]
//: kernel = "clear"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The int counter of a grid-stride loop over 2147480000 bytes steps past 2^31 and turns negative."
#include <cstdio>
#include <cuda_runtime.h>

#ifdef TWIN
using counter = long long;
#else
using counter = int; // FAULT
#endif

__global__ void clear(unsigned char *data, counter n)
{
    counter step = (counter)gridDim.x * blockDim.x;
    for (counter i = (counter)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) data[i] = 0;
}

int main()
{
    const counter n = 2147480000;
    unsigned char *data;
    if (cudaMalloc(&data, n) != cudaSuccess) return 77;
    clear<<<4096, 1024>>>(data, n);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return e != cudaSuccess;
}
