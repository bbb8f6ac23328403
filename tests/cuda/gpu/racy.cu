/* Threads read what their neighbours wrote, without a barrier between. */
#include "check.h"

__global__ void turn_round(int *out)
{
    __shared__ int room[256];
    room[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = room[255 - threadIdx.x];
}

int main()
{
    int *out;
    MUST(cudaMalloc(&out, 256 * sizeof *out));
    turn_round<<<1, 256>>>(out);
    return told("sync", cudaDeviceSynchronize());
}
