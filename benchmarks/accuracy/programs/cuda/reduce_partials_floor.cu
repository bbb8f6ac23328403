//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander"]
//: kernel = "partial_sums"
//: launch = 1
//: argument = 1
//: plain = "silent"
//: fault = "The number of partial sums is rounded down, the number of blocks is rounded up."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

template <int THREADS> __global__ void partial_sums(const float *x, double *partial, int n)
{
    __shared__ double s[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

int main()
{
    const int n = 128 * 64 + 17, threads = 128;
#ifdef TWIN
    int slots = (n + threads - 1) / threads;
#else
    int slots = n / threads; // FAULT
#endif
    int blocks = (n + threads - 1) / threads;
    float *x;
    double *partial;
    cudaMalloc(&partial, slots * sizeof(double));
    cudaMalloc(&x, n * sizeof(float));
    std::vector<float> host(n, 0.25f);
    cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    partial_sums<threads><<<blocks, threads>>>(x, partial, n);
    std::vector<double> sums(slots);
    cudaMemcpy(sums.data(), partial, slots * sizeof(double), cudaMemcpyDeviceToHost);
    double total = 0;
    for (double s : sums) total += s;
    printf("sum %.2f\n", total);
    return cudaGetLastError() != cudaSuccess;
}
