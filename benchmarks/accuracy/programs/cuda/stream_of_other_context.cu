//: class = "A5"
//: cause = ["wrong-context-handle", "failed-call", "value-is-not-a-handle"]
//: call = "cuLaunchKernel"
//: plain = "exit"
//: fault = "The stream was created while the second context was current; the launch is made in the first."
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void zero(int *p) { p[threadIdx.x] = 0; }

static void check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS) return;
    const char *name = "?";
    cuGetErrorName(r, &name);
    fprintf(stderr, "%s -> %s\n", what, name);
    _Exit(1);
}

int main()
{
    CUdevice device;
    CUcontext primary, side;
    CUstream stream;
    CUfunction function;
    cudaFree(0);
    cudaGetFuncBySymbol(&function, (const void *)zero);
    check(cuCtxGetCurrent(&primary), "current");
    check(cuDeviceGet(&device, 0), "device");
    check(cuCtxCreate(&side, nullptr, 0, device), "second context");
#ifdef TWIN
    check(cuCtxSetCurrent(primary), "primary context");
#endif
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream"); // FAULT
    check(cuCtxSetCurrent(primary), "primary context");
    CUdeviceptr p;
    check(cuMemAlloc(&p, 1024), "memory");
    void *arguments[] = {&p};
    check(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr), "launch");
    check(cuCtxSynchronize(), "wait");
    puts("ok");
    return 0;
}
