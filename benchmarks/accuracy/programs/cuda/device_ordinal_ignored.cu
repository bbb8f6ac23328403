//: class = "A5"
//: cause = ["ignored-error", "failed-call"]
//: call = "cudaSetDevice"
//: plain = "exit"
//: fault = "Rank 9 asks for device 9; the call fails, is ignored, and a later check of the last error stops the program."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void ones(int *x) { x[threadIdx.x] = 1; }

int main()
{
    int rank = 9, devices = 0, *x = nullptr;
    cudaGetDeviceCount(&devices);
#ifdef TWIN
    cudaSetDevice(rank % devices);
#else
    cudaSetDevice(rank); // FAULT
#endif
    if (cudaMalloc(&x, 64 * sizeof(int)) != cudaSuccess) return 2;
    ones<<<1, 64>>>(x);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) {
        fprintf(stderr, "kernel launch failed: %s\n", cudaGetErrorString(e));
        return 1;
    }
    printf("rank %d done\n", rank);
}
