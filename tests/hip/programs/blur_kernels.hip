#include <hip/hip_runtime.h>

__global__ void blur(const float *in, float *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = (in[y * width + x] + in[(y + 1) * width + x]) / 2;
}

__global__ void blur_guarded(const float *in, float *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y + 1 < height)
        out[y * width + x] = (in[y * width + x] + in[(y + 1) * width + x]) / 2;
}

void launch_blur(const float *in, float *out, int width, int height, bool guarded)
{
    const dim3 grid((width + 15) / 16, (height + 15) / 16), block(16, 16);
    if (guarded)
        hipLaunchKernelGGL(blur_guarded, grid, block, 0, 0, in, out, width, height);
    else
        hipLaunchKernelGGL(blur, grid, block, 0, 0, in, out, width, height);
}
