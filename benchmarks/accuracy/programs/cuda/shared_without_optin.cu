//: class = "E3"
//: cause = ["launch-refused"]
//: kernel = "sort_tile"
//: launch = 1
//: plain = "exit"
//: fault = "64 KiB of dynamic shared memory need the opt-in attribute, which is never set."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

extern __shared__ unsigned long long keys[];

__global__ void sort_tile(unsigned long long *data)
{
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) keys[i] = data[i];
    __syncthreads();
    for (int pass = 0; pass < 16; ++pass) {
        for (int i = 2 * threadIdx.x + (pass & 1); i + 1 < 8192; i += 2 * blockDim.x)
            if (keys[i] > keys[i + 1]) {
                unsigned long long k = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = k;
            }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) data[i] = keys[i];
}

static void check(const char *what)
{
    cudaError_t e = cudaDeviceSynchronize();
    cudaError_t last = cudaGetLastError();
    if (e == cudaSuccess) e = last;
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
}

int main()
{
    unsigned long long *data;
    cudaMalloc(&data, 65536);
    cudaMemset(data, 0, 65536);
    check("setup");
#ifdef TWIN
    cudaFuncSetAttribute(sort_tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
#endif
    sort_tile<<<1, 512, 65536>>>(data); // FAULT
    check("sort_tile");
    puts("sorted");
}
