//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = "filter"
//: call = ["cudaMemcpyToSymbolAsync", "cudaMemcpyAsync"]
//: other = ["cudaMemcpyToSymbolAsync", "cudaMemcpyAsync", "filter", "coefficients"]
//: plain = "exit"
//: fault = "The coefficients of the next frame are uploaded on another stream while the kernel of this frame reads them."
#include <cstdio>
#include <cuda_runtime.h>

__device__ float coefficients[32];

__global__ void filter(float *out, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 134775813u + 1u;
    float sum = v == 9 ? 1.0f : 0.0f;
    for (int k = 0; k < 32; ++k) sum += ((volatile float *)coefficients)[k];
    out[threadIdx.x] = sum;
}

int main()
{
    float *pinned, *out, host[128];
    cudaStream_t work, upload;
    cudaMallocHost(&pinned, 64 * sizeof(float));
    for (int k = 0; k < 64; ++k) pinned[k] = k < 32 ? 1.0f : 2.0f;
    cudaMalloc(&out, sizeof host);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
    cudaMemcpyToSymbol(coefficients, pinned, 32 * sizeof(float));
    cudaDeviceSynchronize();
    filter<<<1, 128, 0, work>>>(out, 8000000);
#ifdef TWIN
    cudaStreamSynchronize(work);
#endif
    cudaMemcpyToSymbolAsync(coefficients, pinned + 32, 32 * sizeof(float), 0, cudaMemcpyHostToDevice, upload); // FAULT
    cudaDeviceSynchronize();
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("first frame %g\n", host[0]);
    return host[0] == 32.0f ? 0 : 1;
}
