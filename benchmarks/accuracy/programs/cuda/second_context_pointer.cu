//: class = "A5"
//: cause = ["wrong-context-pointer", "wrong-device-pointer", "out-of-bounds-access"]
//: kernel = "increment"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The buffer belongs to a second context that is popped before the launch."
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void increment(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main()
{
    const int n = 4 << 20;
    CUdevice device;
    CUdeviceptr buffer;
    cudaFree(0);
    cuDeviceGet(&device, 0);
#ifndef TWIN
    CUcontext other;
#if CUDA_VERSION >= 13000
    if (cuCtxCreate(&other, nullptr, 0, device)) return 2; // FAULT
#else
    if (cuCtxCreate(&other, 0, device)) return 2;
#endif
#endif
    if (cuMemAlloc(&buffer, n * sizeof(int))) return 2;
    cuMemsetD32(buffer, 41, n);
#ifndef TWIN
    cuCtxPopCurrent(&other);
#endif
    increment<<<n / 256, 256>>>((int *)buffer);
    cudaError_t e = cudaDeviceSynchronize();
    int last = 0;
    if (e == cudaSuccess) cuMemcpyDtoH(&last, buffer + (n - 1) * sizeof(int), sizeof last);
    printf("%s, last %d\n", cudaGetErrorString(e), last);
    return last == 42 ? 0 : 1;
}
