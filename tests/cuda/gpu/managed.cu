/* Memory that both sides use, and host memory that the device uses: allocated, registered, mapped. */
#include "check.h"

__global__ void twice(int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] *= 2;
}

int main()
{
    const int n = 1024;
    int *managed, *pinned, *mapped, *plain = (int *)std::malloc(n * sizeof *plain);
    MUST(cudaMallocManaged(&managed, n * sizeof *managed));
    MUST(cudaHostAlloc(&pinned, n * sizeof *pinned, cudaHostAllocMapped));
    MUST(cudaHostRegister(plain, n * sizeof *plain, cudaHostRegisterMapped));
    MUST(cudaHostGetDevicePointer((void **)&mapped, plain, 0));
    for (int i = 0; i < n; i++)
        managed[i] = pinned[i] = plain[i] = i;
    twice<<<4, 256>>>(managed, n);
    twice<<<4, 256>>>(pinned, n);
    twice<<<4, 256>>>(mapped, n);
    MUST(cudaDeviceSynchronize());
    std::printf("%d %d %d\n", managed[500], pinned[500], plain[500]);
    MUST(cudaHostUnregister(plain));
    MUST(cudaFreeHost(pinned));
    MUST(cudaFree(managed));
    return 0;
}
