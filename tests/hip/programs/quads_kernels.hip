#include <hip/hip_runtime.h>

struct Quad { float x, y, z, w; };

__global__ void sum_quads(const float *in, float *out, int quads)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        const Quad quad = ((const Quad *)in)[i];
        out[i] = quad.x + quad.y + quad.z + quad.w;
    }
}

void launch_sum_quads(const float *in, float *out, int quads)
{
    hipLaunchKernelGGL(sum_quads, dim3((quads + 63) / 64), dim3(64), 0, 0, in, out, quads);
}
