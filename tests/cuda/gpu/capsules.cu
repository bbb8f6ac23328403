// Launches to capture: templates, structs with pointers, shared memory, atomics, constants, pointers in memory, and one that faults.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"

constexpr int N = 1 << 16;
__constant__ float weights[16];
__device__ int counter;

struct Tensor { float *data; int rows, cols; const int *index; };

template <typename T, int K> __global__ void scaled(T *out, const T *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * T(K) + out[i];
}

__global__ void gather(Tensor t, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < t.rows * t.cols)
        out[i] = t.data[t.index[i]] * 2;
}

__global__ void reduce(const float *in, float *sums)
{
    extern __shared__ float room[];
    room[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int s = blockDim.x / 2; s; s /= 2) {
        if (threadIdx.x < s)
            room[threadIdx.x] += room[threadIdx.x + s];
        __syncthreads();
    }
    if (!threadIdx.x)
        sums[blockIdx.x] = room[0];
}

__global__ void count(const int *keys, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[keys[i] & 255], 1);
}

__global__ void weigh(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * weights[i & 15];
    if (!i)
        atomicAdd(&counter, 1);
}

__global__ void rows_of(float **rows, int n)
{
    rows[blockIdx.x][threadIdx.x] += float(n);
}

__global__ void grid3(double *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    out[(z * 32 + y) * 32 + x] = x + 100.0 * y + 1e4 * z;
}

__global__ void faulty(float *out, long far)
{
    out[threadIdx.x + far] = 1;
}

int main(int argc, char **argv)
{
    float *x, *y, *host = (float *)malloc(N * 4), **rows;
    int *keys, *bins;
    double *cube;
    float given[16];
    for (int i = 0; i < N; i++)
        host[i] = float(i % 1000) / 7;
    for (int i = 0; i < 16; i++)
        given[i] = float(i) * 0.5f;
    MUST(cudaMalloc(&x, N * 4));
    MUST(cudaMalloc(&y, N * 4));
    MUST(cudaMalloc(&keys, N * 4));
    MUST(cudaMalloc(&bins, 256 * 4));
    MUST(cudaMalloc(&cube, 32 * 32 * 4 * 8));
    MUST(cudaMalloc(&rows, 4 * sizeof *rows));
    MUST(cudaMemcpy(x, host, N * 4, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(y, host, N * 4, cudaMemcpyHostToDevice));
    MUST(cudaMemset(bins, 0, 256 * 4));
    MUST(cudaMemcpyToSymbol(weights, given, sizeof given));
    int *numbers = (int *)host;
    for (int i = 0; i < N; i++)
        numbers[i] = int((i * 7919u) % N);
    MUST(cudaMemcpy(keys, numbers, N * 4, cudaMemcpyHostToDevice));
    float *table[4];
    for (auto &row : table) {
        MUST(cudaMalloc(&row, 256 * 4));
        MUST(cudaMemset(row, 0, 256 * 4));
    }
    MUST(cudaMemcpy(rows, table, sizeof table, cudaMemcpyHostToDevice));
    scaled<float, 3><<<N / 256, 256>>>(y, x, N);
    scaled<float, 3><<<N / 256, 256>>>(y, x, N - 5);
    scaled<int, 2><<<N / 256, 256>>>(keys, keys, 0);
    gather<<<N / 256, 256>>>(Tensor{ x, 256, 256, keys }, y);
    reduce<<<N / 256, 256, 256 * 4>>>(y, x);
    count<<<N / 256, 256>>>(keys, bins, N);
    weigh<<<N / 256, 256>>>(y, x);
    rows_of<<<4, 256>>>(rows, 5);
    grid3<<<dim3(2, 4, 4), dim3(16, 8)>>>(cube);
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(host, y, N * 4, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += host[i];
    printf("%g\n", sum);
    if (argc > 1 && !strcmp(argv[1], "fault")) {
        faulty<<<1, 32>>>(y, 1l << 40);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
        return 1;
    }
    return 0;
}
