//: class = "A3"
//: cause = ["index-overflow"]
//: kernel = "scale_head"
//: launch = 1
//: argument = [0, 1, 2, 3]
//: plain = "exit"
//: fault = "The product batch x heads x tokens x dim of the offset is taken in 32 bits before it is widened."
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct Shape {
    int batch, heads, tokens, dim;
};

__global__ void scale_head(__half *kv, Shape s, int b, int h)
{
    int t = blockIdx.x, d = threadIdx.x;
#ifdef TWIN
    int64_t offset = (((int64_t)b * s.heads + h) * s.tokens + t) * s.dim + d;
#else
    int64_t offset = ((b * s.heads + h) * s.tokens + t) * s.dim + d; // FAULT
#endif
    kv[offset] = __hmul(kv[offset], __float2half(0.125f));
}

int main()
{
    Shape s{3, 32, 202752, 128}; // 2.49e9 elements, 5 GB
    __half *kv = nullptr;
    cudaError_t e = cudaMalloc(&kv, sizeof(__half) * s.batch * s.heads * s.tokens * s.dim);
    if (e != cudaSuccess) return printf("allocation: %s\n", cudaGetErrorString(e)), 77;
    cudaMemset(kv, 0, sizeof(__half) * s.batch * s.heads * s.tokens * s.dim);
    scale_head<<<s.tokens, s.dim>>>(kv, s, s.batch - 1, s.heads - 1);
    e = cudaDeviceSynchronize();
    printf("scale: %s\n", cudaGetErrorString(e));
    cudaFree(kv);
    return e == cudaSuccess ? 0 : 1;
}
