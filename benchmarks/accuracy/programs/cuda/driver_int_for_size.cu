//: class = "D1"
//: cause = ["argument-type", "argument-size", "out-of-bounds-access"]
//: kernel = "fill_n"
//: launch = 1
//: argument = [0, 1]
//: plain = "exit"
//: fault = "The kernel takes a size_t, the host gives the address of an int next to another int: the upper half is the neighbour."
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void fill_n(float *x, size_t n, float value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) x[i] = value;
}

struct Dimensions {
#ifdef TWIN
    size_t n;
#else
    int n; // FAULT
#endif
    int batch;
};

int main()
{
    Dimensions d = {1 << 20, 7};
    CUfunction fill;
    CUdeviceptr x;
    cudaSetDevice(0);
    if (cudaGetFuncBySymbol(&fill, (const void *)fill_n) || cuMemAlloc(&x, d.n * sizeof(float))) return 2;
    float value = 2.5f;
    void *arguments[] = {&x, &d.n, &value};
    CUresult r = cuLaunchKernel(fill, 64, 1, 1, 256, 1, 1, 0, 0, arguments, 0);
    if (r == CUDA_SUCCESS) r = cuCtxSynchronize();
    const char *text = "";
    cuGetErrorString(r, &text);
    printf("fill: %s\n", text);
    return r ? 1 : 0;
}
