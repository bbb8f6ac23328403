//: class = "E2"
//: cause = ["launch-refused"]
//: kernel = "outer_products"
//: launch = 1
//: plain = "exit"
//: fault = "Each thread keeps an 11 x 11 tile in registers; 1024 such threads do not fit into a multiprocessor."
#include <cstdio>
#include <cuda_runtime.h>

constexpr int N = 11;

__global__ void outer_products(const float *a, const float *b, float *c, int k)
{
    float tile[N][N] = {}, ra[N], rb[N];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < k; ++step) {
#pragma unroll
        for (int i = 0; i < N; ++i) ra[i] = a[step * N + i] + t, rb[i] = b[step * N + i] - t;
#pragma unroll
        for (int i = 0; i < N; ++i)
#pragma unroll
            for (int j = 0; j < N; ++j) tile[i][j] += ra[i] * rb[j];
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j) sum = fmaxf(sum, tile[i][j] * (i - j));
    c[t] = sum;
}

int main()
{
    float *a, *b, *c;
    cudaMalloc(&a, 64 * N * sizeof(float));
    cudaMalloc(&b, 64 * N * sizeof(float));
    cudaMalloc(&c, 4096 * sizeof(float));
    cudaMemset(a, 0, 64 * N * sizeof(float));
    cudaMemset(b, 0, 64 * N * sizeof(float));
#ifdef TWIN
    const int threads = 256;
#else
    const int threads = 1024; // FAULT
#endif
    outer_products<<<4096 / threads, threads>>>(a, b, c, 64);
    cudaError_t e = cudaGetLastError();
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(e));
    return e != cudaSuccess;
}
