//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "matmul"
//: launch = 1
//: plain = "sometimes"
//: fault = "The next tile is loaded while slower warps still multiply with the last one: the second barrier of the loop is missing."
#include <cstdio>
#include <cuda_runtime.h>

constexpr int T = 32;

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[T][T], tb[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
#ifdef TWIN
        __syncthreads();
#endif
    } // FAULT
    c[row * n + col] = sum;
}

int main()
{
    const int n = 512;
    float *a, *b, *c;
    for (float **p : {&a, &b, &c})
        if (cudaMallocManaged(p, n * n * sizeof(float)) != cudaSuccess) return 2;
    for (int i = 0; i < n * n; ++i) a[i] = (float)(i / n % 7), b[i] = (float)(i % 5);
    matmul<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    double sum = 0;
    for (int i = 0; i < n * n; ++i) sum += c[i];
    double expected = 0;
    for (int k = 0; k < n; ++k) {
        double ca = 0, rb = 0;
        for (int i = 0; i < n; ++i) ca += a[i * n + k], rb += b[k * n + i];
        expected += ca * rb;
    }
    printf("sum %.0f expected %.0f\n", sum, expected);
    return sum == expected ? 0 : 1;
}
