//: class = "A4"
//: cause = ["null-pointer"]
//: kernel = "linear"
//: launch = 2
//: argument = 0
//: plain = "exit"
//: fault = "The second layer has no bias; the kernel reads the null pointer of the struct all the same."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct LayerParams {
    const float *weight;
    const float *bias; // null where the layer has none
    int in, out;
};

__global__ void linear(LayerParams p, const float *x, float *y)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= p.out) return;
#ifdef TWIN
    float sum = p.bias ? p.bias[o] : 0.0f;
#else
    float sum = p.bias[o]; // FAULT
#endif
    for (int i = 0; i < p.in; ++i) sum += p.weight[o * p.in + i] * x[i];
    y[o] = sum;
}

static float *zeros(int n)
{
    float *p = nullptr;
    if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) exit(1);
    cudaMemset(p, 0, n * sizeof(float));
    return p;
}

int main()
{
    LayerParams first{zeros(64 * 128), zeros(128), 64, 128}, second{zeros(128 * 32), nullptr, 128, 32};
    float *x = zeros(64), *h = zeros(128), *y = zeros(32);
    linear<<<2, 64>>>(first, x, h);
    linear<<<1, 64>>>(second, h, y);
    cudaError_t e = cudaDeviceSynchronize();
    printf("forward pass: %s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
