//: class = "A2"
//: cause = ["host-access-outside-buffer", "crash-in-call", "crash-outside-calls", "copy-range"]
//: call = "cudaMemcpy"
//: plain = "signal"
//: fault = "The result is copied into a host vector that was reserved but has no elements for it."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void ramp(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (float)i;
}

int main()
{
    const int n = 6 << 20;
    float *x;
    std::vector<float> result(64);
#ifdef TWIN
    result.resize(n);
#endif
    cudaMalloc(&x, n * sizeof(float));
    ramp<<<(n + 255) / 256, 256>>>(x, n);
    cudaMemcpy(result.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost); // FAULT
    printf("last %g\n", result[result.size() - 1]);
    return result.back() == n - 1 ? 0 : 1;
}
