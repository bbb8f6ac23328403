/* A fault in the middle launch of three; the copy at the end reports it. */
#include "check.h"

__global__ void good(int *out)
{
    out[threadIdx.x] = 1;
}

__global__ void bad(int *out, long long far)
{
    out[far] = 1;
}

int main()
{
    int *out, back = 0;
    MUST(cudaMalloc(&out, 4096));
    good<<<1, 32>>>(out);
    bad<<<1, 1>>>(out, 1ll << 40);
    good<<<1, 32>>>(out);
    told("last launch", cudaGetLastError());
    return told("copy", cudaMemcpy(&back, out, sizeof back, cudaMemcpyDeviceToHost));
}
