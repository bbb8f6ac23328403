/* Never ends: whoever runs it has to stop it. */
#include "check.h"

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}

int main()
{
    int *flag;
    MUST(cudaMalloc(&flag, sizeof *flag));
    MUST(cudaMemset(flag, 0, sizeof *flag));
    spin<<<1, 1>>>(flag);
    std::printf("waiting\n");
    std::fflush(stdout);
    return told("sync", cudaDeviceSynchronize());
}
