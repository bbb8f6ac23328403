//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "scale"
//: launch = 2
//: argument = 0
//: plain = "silent"
//: fault = "The grid is rounded up to whole blocks and the kernel does not compare its index with n."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t e_ = (call);                                                          \
        if (e_ != cudaSuccess) {                                                          \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

__global__ void fill(float *x, int n, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

__global__ void scale(float *x, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef TWIN
    if (i < n)
#endif
    x[i] *= factor; // FAULT
}

int main()
{
    const int n = 1000003;
    float *x, last;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    fill<<<(n + 255) / 256, 256>>>(x, n, 1.5f);
    CHECK(cudaGetLastError());
    scale<<<(n + 255) / 256, 256>>>(x, n, 2.0f);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("last element %.1f\n", last);
    CHECK(cudaFree(x));
    return last == 3.0f ? 0 : 1;
}
