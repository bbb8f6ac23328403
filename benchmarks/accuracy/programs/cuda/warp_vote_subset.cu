//: class = "C3"
//: cause = ["barrier-misuse", "hang"]
//: kernel = "select"
//: launch = 1
//: plain = "sometimes"
//: fault = "__shfl_sync names all lanes, but only the lanes with work call it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void select(const int *x, int *out)
{
    int lane = threadIdx.x, v = x[lane], sum = 0;
#ifdef TWIN
    for (int d = 0; d < 32; ++d) {
        int other = __shfl_sync(0xffffffffu, v, d);
        if (v % 2 == 0 && other % 2 == 0) sum += other;
    }
#else
    if (v % 2 == 0)
        for (int d = 0; d < 32; ++d) {
            int other = __shfl_sync(0xffffffffu, v, d); // FAULT
            if (other % 2 == 0) sum += other;
        }
#endif
    out[lane] = sum;
}

int main()
{
    int host[32], *x, *out, expected = 0;
    for (int i = 0; i < 32; ++i) host[i] = i * i + i / 3, expected += host[i] % 2 == 0 ? host[i] : 0;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    select<<<1, 32>>>(x, out);
    cudaError_t e = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d, expected %d (%s)\n", host[0], expected, cudaGetErrorString(e));
    return e || host[0] != expected ? 1 : 0;
}
