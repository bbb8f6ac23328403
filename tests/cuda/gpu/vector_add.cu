/* The first program of every tutorial, with the runtime library linked in statically. */
#include "check.h"

__global__ void add(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i];
}

int main()
{
    const int n = 1 << 20;
    float *host = new float[n], *a, *b, *out;
    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    MUST(cudaMalloc(&a, n * sizeof *a));
    MUST(cudaMalloc(&b, n * sizeof *b));
    MUST(cudaMalloc(&out, n * sizeof *out));
    MUST(cudaMemcpy(a, host, n * sizeof *a, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(b, host, n * sizeof *b, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(a, b, out, n);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(host, out, n * sizeof *out, cudaMemcpyDeviceToHost));
    std::printf("out[1000] = %g\n", host[1000]);
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    MUST(cudaFree(out));
    return host[1000] == 2000 ? 0 : 1;
}
