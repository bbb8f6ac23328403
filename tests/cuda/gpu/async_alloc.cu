/* Memory that is allocated and freed in the order of a stream, from the default pool and from one of its own. */
#include "check.h"

__global__ void fill(int *out, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}

int main()
{
    const int n = 1000;
    int *a, *b, last = 0;
    cudaStream_t stream;
    cudaMemPool_t pool;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaMemPoolCreate(&pool, &properties));
    MUST(cudaMallocAsync((void **)&a, n * sizeof *a, stream));
    MUST(cudaMallocFromPoolAsync((void **)&b, n * sizeof *b, pool, stream));
    fill<<<4, 256, 0, stream>>>(a, n, 1);
    fill<<<4, 256, 0, stream>>>(b, n, 2);
    MUST(cudaMemcpyAsync(&last, b + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    MUST(cudaFreeAsync(a, stream));
    MUST(cudaFreeAsync(b, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemPoolDestroy(pool));
    std::printf("last = %d\n", last);
    return last == 2 ? 0 : 1;
}
