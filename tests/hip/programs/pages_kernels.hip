#include <hip/hip_runtime.h>

__global__ void gather(float *out, const float *cache, const int *table, int tokens, int page, int dim)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * dim)
        return;
    const int token = i / dim;
    const long row = (long)table[token / page] * page + token % page;
    out[i] = cache[row * dim + i % dim];
}

void launch_gather(float *out, const float *cache, const int *table, int tokens, int page, int dim)
{
    hipLaunchKernelGGL(gather, dim3((tokens * dim + 255) / 256), dim3(256), 0, 0, out, cache, table, tokens, page, dim);
}
