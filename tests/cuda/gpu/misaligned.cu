/* Reads a double at an odd address. */
#include "check.h"

__global__ void read(const char *at, double *out)
{
    *out = *(const double *)at;
}

int main()
{
    char *at;
    double *out;
    MUST(cudaMalloc(&at, 4096));
    MUST(cudaMalloc(&out, sizeof *out));
    read<<<1, 1>>>(at + 1, out);
    return told("sync", cudaDeviceSynchronize());
}
