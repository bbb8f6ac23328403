//: class = "H2"
//: cause = ["numeric-overflow", "not-a-number"]
//: kernel = "layer_norm_sum"
//: launch = 2
//: plain = "exit"
//: fault = "A sum over 4096 values is kept in half precision and passes 65504."
#include <cmath>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#ifdef TWIN
typedef float sum_t;
#else
typedef __half sum_t; // FAULT
#endif

__global__ void activations(__half *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = __float2half(8.0f + (i % 64));
}

__global__ void layer_norm_sum(const __half *x, float *squares, int cols)
{
    sum_t sum = sum_t(0.0f);
    for (int c = 0; c < cols; ++c) sum = sum + sum_t(__half2float(x[blockIdx.x * cols + c]) * __half2float(x[blockIdx.x * cols + c]));
    squares[blockIdx.x] = float(sum) / cols;
}

int main()
{
    const int rows = 16, cols = 4096;
    __half *x;
    float *squares, host[rows];
    if (cudaMalloc(&x, rows * cols * sizeof(__half)) || cudaMalloc(&squares, sizeof host)) return 2;
    activations<<<rows * cols / 256, 256>>>(x, rows * cols);
    layer_norm_sum<<<rows, 1>>>(x, squares, cols);
    if (cudaMemcpy(host, squares, sizeof host, cudaMemcpyDeviceToHost)) return 2;
    printf("mean square %g\n", host[0]);
    return std::isfinite(host[0]) ? 0 : 1;
}
