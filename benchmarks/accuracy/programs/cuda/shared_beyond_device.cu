//: class = "E3"
//: cause = ["launch-refused", "ignored-error", "failed-call"]
//: kernel = "attention_tile"
//: call = "cudaFuncSetAttribute"
//: plain = "silent"
//: fault = "Four stages need 256 KiB of shared memory per block; the attribute call fails and so does the launch, unseen."
#include <cstdio>
#include <cuda_runtime.h>

extern __shared__ float stage[];

__global__ void attention_tile(float *out, int floats)
{
    for (int i = threadIdx.x; i < floats; i += blockDim.x) stage[i] = i * 0.001f;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = stage[threadIdx.x];
}

int main()
{
#ifdef TWIN
    const int stages = 3;
#else
    const int stages = 4; // FAULT
#endif
    const int bytes = stages * 64 * 1024;
    float *out, host[128] = {};
    cudaMalloc(&out, 16 * 128 * sizeof(float));
    cudaMemset(out, 0, 16 * 128 * sizeof(float));
    cudaFuncSetAttribute(attention_tile, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    attention_tile<<<16, 128, bytes>>>(out, bytes / 4);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("out[100] = %.3f\n", host[100]);
    return 0;
}
