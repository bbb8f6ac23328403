#include <hip/hip_runtime.h>

__global__ void embed(const signed char *table, const int *tokens, signed char *out, int width)
{
    const int row = blockIdx.x;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[row * width + i] = table[tokens[row] * width + i];
}

__global__ void embed_wide(const signed char *table, const int *tokens, signed char *out, int width)
{
    const int row = blockIdx.x;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[row * width + i] = table[(size_t)tokens[row] * width + i];
}

void launch_embed(const signed char *table, const int *tokens, signed char *out, int count, int width, bool wide)
{
    if (wide)
        hipLaunchKernelGGL(embed_wide, dim3(count), dim3(128), 0, 0, table, tokens, out, width);
    else
        hipLaunchKernelGGL(embed, dim3(count), dim3(128), 0, 0, table, tokens, out, width);
}
