#include <hip/hip_runtime.h>

__global__ void step(const float *from, float *to, const float *bias, int width, int height, int pitch, float side, float centre)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < width - 1 && y < height)
        to[y * pitch + x] = side * (from[y * pitch + x - 1] + from[y * pitch + x + 1]) + centre * from[y * pitch + x] + bias[y];
}

__global__ void add_tiles(const float *in, float *out, int pitch, int width, int tile, int tiles)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tiles)
        return;
    for (int x = t * tile; x < (t + 1) * tile && x < width; x++)
        out[t] += in[x];
}

void launch_step(const float *from, float *to, const float *bias, int width, int height, int pitch, float side, float centre, int blocks)
{
    hipLaunchKernelGGL(step, dim3(blocks, (height + 7) / 8), dim3(16, 8), 0, 0, from, to, bias, width, height, pitch, side,
                       centre);
}

void launch_tiles(const float *in, float *out, int pitch, int width, int tile, int tiles)
{
    hipLaunchKernelGGL(add_tiles, dim3(1), dim3(64), 0, 0, in, out, pitch, width, tile, tiles);
}
