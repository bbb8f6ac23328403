#include <hip/hip_runtime.h>

__global__ void scores_f32(const float *q, const float *k, float *scores, int queries, int keys, int width)
{
    const int key = blockIdx.x * blockDim.x + threadIdx.x, query = blockIdx.y;
    if (key >= keys || query >= queries)
        return;
    float sum = 0;
    for (int i = 0; i < width; i++)
        sum += q[query * width + i] * k[key * width + i];
    scores[query * keys + key] = sum;
}

void launch_scores(const float *q, const float *k, float *scores, int queries, int keys, int width)
{
    hipLaunchKernelGGL(scores_f32, dim3((keys + 63) / 64, queries), dim3(64), 0, 0, q, k, scores, queries, keys, width);
}
