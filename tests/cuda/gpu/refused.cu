/* Launches that the driver refuses, and says so at once: too many threads, too much shared memory, no grid, a
 * cooperative grid that does not fit. */
#include "check.h"

__global__ void idle(int value)
{
    extern __shared__ int room[];
    room[threadIdx.x] = value;
}

int main()
{
    int value = 1;
    void *arguments[] = { &value };
    idle<<<1, 2048>>>(value);
    told("threads", cudaGetLastError());
    idle<<<1, 32, 1 << 20>>>(value);
    told("shared memory", cudaGetLastError());
    idle<<<0, 32, 128>>>(value);
    told("grid", cudaGetLastError());
    told("cooperative", cudaLaunchCooperativeKernel((void *)idle, dim3(1 << 20), dim3(1024), arguments, 4096, 0));
    cudaGetLastError();
    idle<<<1, 32, 4096>>>(value);
    return told("at last", cudaDeviceSynchronize());
}
