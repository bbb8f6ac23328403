//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "byte_histogram"
//: launch = 1
//: plain = "sometimes"
//: fault = "The shared bins are cleared by the first warps while others already count: a barrier is missing."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void byte_histogram(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ unsigned local[256];
    if (threadIdx.x >= blockDim.x - 256) local[threadIdx.x - (blockDim.x - 256)] = 0;
#ifdef TWIN
    __syncthreads();
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1); // FAULT
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

int main()
{
    const int n = 1 << 22;
    std::vector<unsigned char> text(n);
    for (int i = 0; i < n; ++i) text[i] = (unsigned char)(i * 31);
    unsigned char *data;
    unsigned *bins, host[256];
    cudaMalloc(&data, n);
    cudaMalloc(&bins, sizeof host);
    cudaMemset(bins, 0, sizeof host);
    cudaMemcpy(data, text.data(), n, cudaMemcpyHostToDevice);
    byte_histogram<<<256, 1024>>>(data, n, bins);
    cudaMemcpy(host, bins, sizeof host, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (unsigned b : host) bad += b != n / 256;
    printf("%d bins are wrong\n", bad);
    return bad != 0;
}
