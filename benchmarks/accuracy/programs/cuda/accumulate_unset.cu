//: class = "H1"
//: cause = ["read-before-write"]
//: kernel = "accumulate"
//: launch = 2
//: argument = 0
//: plain = "exit"
//: fault = "The accumulator is allocated where a freed buffer was and never cleared."
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void noise(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = sinf((float)i) * 1e4f;
}

__global__ void accumulate(double *sum, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += value;
}

int main()
{
    const int n = 50000;
    float *scratch;
    double *sum, total = 0, *host = new double[n];
    cudaMalloc(&scratch, 2 * n * sizeof(float));
    noise<<<(2 * n + 255) / 256, 256>>>(scratch, 2 * n);
    cudaFree(scratch);
    cudaMalloc(&sum, n * sizeof(double)); // FAULT
#ifdef TWIN
    cudaMemset(sum, 0, n * sizeof(double));
#endif
    for (int round = 0; round < 4; ++round) accumulate<<<(n + 255) / 256, 256>>>(sum, 0.25f, n);
    cudaMemcpy(host, sum, n * sizeof(double), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) total += host[i];
    printf("mean %g\n", total / n);
    return fabs(total / n - 1) < 1e-9 ? 0 : 1;
}
