//: class = "A4"
//: cause = ["null-pointer", "ignored-error"]
//: kernel = "init_cache"
//: launch = 1
//: argument = 0
//: call = "cudaMalloc"
//: plain = "exit"
//: fault = "A cache of 1 TB cannot be allocated; nothing looks at the result and the kernel gets a null pointer."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void init_cache(float4 *cache, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) cache[i] = make_float4(0, 0, 0, 1);
}

int main()
{
#ifdef TWIN
    size_t contexts = 16;
#else
    size_t contexts = 16 << 10; // FAULT
#endif
    size_t per_context = 64ull << 20;
    float4 *cache = nullptr;
    cudaMalloc((void **)&cache, contexts * per_context);
    size_t shown = 1 << 20;
    init_cache<<<(unsigned)(shown / 256), 256>>>(cache, shown);
    float4 first;
    cudaError_t e = cudaMemcpy(&first, cache, sizeof first, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        fprintf(stderr, "reading the cache: %s\n", cudaGetErrorString(e));
        return 1;
    }
    printf("w = %g\n", first.w);
    return 0;
}
