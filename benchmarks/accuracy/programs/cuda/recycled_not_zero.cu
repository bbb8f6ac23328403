//: class = "H1"
//: group = "order"
//: cause = ["read-before-write"]
//: kernel = "accumulate_grad"
//: launch = 2
//: argument = 0
//: plain = "exit"
//: fault = "Memory from the stream's pool is taken to be zero; the second allocation is the first one, recycled."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void accumulate_grad(float *grad, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grad[i] += value;
}

static float step(float value, cudaStream_t s)
{
    const int n = 4000;
    float *grad, host = 0;
    cudaMallocAsync(&grad, n * sizeof(float), s); // FAULT
#ifdef TWIN
    cudaMemsetAsync(grad, 0, n * sizeof(float), s);
#else
    static bool first = true;
    if (first) cudaMemsetAsync(grad, 0, n * sizeof(float), s);
    first = false;
#endif
    accumulate_grad<<<(n + 255) / 256, 256, 0, s>>>(grad, value, n);
    cudaMemcpyAsync(&host, grad + n - 1, sizeof host, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    cudaFreeAsync(grad, s);
    return host;
}

int main()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    float a = step(1, s), b = step(2, s), c = step(4, s);
    printf("%g %g %g\n", a, b, c);
    return a == 1 && b == 2 && c == 4 ? 0 : 1;
}
