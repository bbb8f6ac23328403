/* Kernels that never end: whoever runs this has to stop it. */
#include <cooperative_groups.h>
#include <cstring>

#include "check.h"

__global__ void in_branch(const int *x, int *out)
{
    __shared__ int sum;
    sum = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0) {
        atomicAdd(&sum, 1);
        __syncthreads(); /* not all lanes of a warp come here */
        out[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) out[0] = sum;
}

__global__ void some_blocks(int *out)
{
    if (blockIdx.x % 2) return;
    cooperative_groups::this_grid().sync(); /* half of the blocks have left */
    out[blockIdx.x] = 1;
}

__global__ void no_flag(volatile int *flag, int *out)
{
    while (*flag == 0) { /* nobody sets it */
    }
    *out = 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "branch";
    int *x, *out, host[256];
    MUST(cudaMalloc(&x, sizeof host));
    MUST(cudaMalloc(&out, sizeof host));
    for (int i = 0; i < 256; ++i) host[i] = i % 3 - 1;
    MUST(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    if (!std::strcmp(how, "branch")) in_branch<<<1, 256>>>(x, out);
    if (!std::strcmp(how, "flag")) {
        MUST(cudaMemset(x, 0, sizeof host));
        no_flag<<<1, 1>>>(x, out);
    }
    if (!std::strcmp(how, "grid")) {
        void *arguments[] = { &out };
        MUST(cudaLaunchCooperativeKernel((void *)some_blocks, dim3(8), dim3(64), arguments, 0, 0));
    }
    return told("sync", cudaDeviceSynchronize());
}
