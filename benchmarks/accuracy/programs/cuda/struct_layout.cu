//: class = "D1"
//: cause = ["argument-size", "argument-type", "failed-call", "launch-refused"]
//: kernel = "step"
//: call = "cuLaunchKernel"
//: plain = "exit"
//: fault = "The host packs its argument buffer to 20 bytes, the kernel's parameters need 24."
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void step(float *x, int n, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += (float)dt;
}

#ifndef TWIN
#pragma pack(push, 4) // FAULT
#endif
struct Arguments {
    CUdeviceptr x;
    int n;
    double dt;
};
#ifndef TWIN
#pragma pack(pop)
#endif

int main()
{
    CUfunction function;
    Arguments a{};
    a.n = 300;
    a.dt = 0.25;
    cudaFree(0);
    cudaGetFuncBySymbol(&function, (const void *)step);
    if (cuMemAlloc(&a.x, a.n * sizeof(float)) || cuMemsetD32(a.x, 0, a.n)) return 2;
    size_t size = sizeof a;
    void *config[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUresult launched = cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, 0, nullptr, config);
    float first = -1;
    cuMemcpyDtoH(&first, a.x, sizeof first);
    printf("launch %d, first %g\n", launched, first);
    return first == 0.25f ? 0 : 1;
}
