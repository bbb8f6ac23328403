//: class = "A3"
//: cause = ["index-overflow", "hang"]
//: kernel = "clear"
//: launch = 1
//: plain = "hang"
//: fault = "The 32-bit counter of a grid-stride loop over 4294960000 bytes wraps to small numbers and never reaches the end."
#include <cstdio>
#include <cuda_runtime.h>

#ifdef TWIN
using counter = unsigned long long;
#else
using counter = unsigned; // FAULT
#endif

__global__ void clear(unsigned char *data, counter n)
{
    counter step = (counter)gridDim.x * blockDim.x;
    for (counter i = (counter)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) data[i] = 0;
}

int main()
{
    const counter n = 4294960000;
    unsigned char *data;
    if (cudaMalloc(&data, n) != cudaSuccess) return 77;
    clear<<<4096, 1024>>>(data, n);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return e != cudaSuccess;
}
