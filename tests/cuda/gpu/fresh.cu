/* Reads memory that nobody wrote. "fresh written" writes it first. */
#include <cstring>

#include "check.h"

__global__ void take(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}

int main(int argc, char **argv)
{
    const int n = 1000;
    static float host[n];
    float *in, *out;
    MUST(cudaMalloc(&in, n * sizeof *in));
    MUST(cudaMalloc(&out, n * sizeof *out));
    if (argc > 1 && !std::strcmp(argv[1], "written"))
        MUST(cudaMemset(in, 0, n * sizeof *in));
    take<<<4, 256>>>(out, in, n);
    MUST(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    std::puts("done");
    return 0;
}
