/* A kernel that stops itself. */
#include "check.h"

__global__ void stop(int value)
{
    if (value == 3)
        __trap();
}

int main()
{
    stop<<<1, 1>>>(3);
    return told("sync", cudaDeviceSynchronize());
}
