#include <hip/hip_runtime.h>

__global__ void transpose(float *out, const float *in, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}

__global__ void brighten(float *data, int count, float by)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += by;
}

void launch_transpose(float *out, const float *in, int width, int height)
{
    hipLaunchKernelGGL(transpose, dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16), 0, 0, out, in, width, height);
}

void launch_brighten(float *data, int count, float by)
{
    hipLaunchKernelGGL(brighten, dim3((count + 255) / 256), dim3(256), 0, 0, data, count, by);
}
