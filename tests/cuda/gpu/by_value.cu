/* Pointers inside a structure passed by value, a large parameter block, and a launch with attributes (a cluster). */
#include "check.h"

struct view { float *data; long long stride; int sizes[4]; };
struct large { int values[900]; };

__global__ void fill(view v, large l, float x)
{
    v.data[threadIdx.x * v.stride] = x + (float)l.values[threadIdx.x];
}

__global__ void cluster(int *out)
{
    out[blockIdx.x] = (int)blockIdx.x;
}

int main()
{
    view v = {};
    large l = {};
    float back = 0;
    int *out;
    MUST(cudaMalloc(&v.data, 4096));
    MUST(cudaMalloc(&out, 4096));
    v.stride = 2;
    for (int i = 0; i < 900; i++)
        l.values[i] = i;
    fill<<<1, 32>>>(v, l, 0.5f);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(4);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    MUST(cudaLaunchKernelEx(&config, cluster, out));
    MUST(cudaMemcpy(&back, v.data + 20, sizeof back, cudaMemcpyDeviceToHost));
    std::printf("v[10] = %g\n", back);
    return back == 10.5f ? 0 : 1;
}
