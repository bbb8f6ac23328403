//: class = "C4"
//: cause = ["barrier-misuse", "warp-size-assumption", "race-in-kernel", "read-before-write"]
//: kernel = "row_max"
//: launch = 1
//: plain = "silent"
//: fault = "A block of 80 threads is reduced with one slot per warp as if it had a multiple of 32 full warps: the upper half of the last one does not exist."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void row_max(const int *x, int *out, int n)
{
    __shared__ int warp_best[32];
    int t = threadIdx.x, best = t < n ? x[t] : -1;
#ifdef TWIN
    if (t < 32) warp_best[t] = -1;
    __syncthreads();
    int lanes = min(32, n - t / 32 * 32);
    for (int d = 16; d; d /= 2) {
        int other = __shfl_down_sync(__activemask(), best, d);
        if (t % 32 + d < lanes) best = max(best, other);
    }
#else
    for (int d = 16; d; d /= 2) best = max(best, __shfl_down_sync(0xffffffffu, best, d)); // FAULT
#endif
    if (t % 32 == 0) warp_best[t / 32] = best;
    __syncthreads();
    if (t == 0) {
#ifdef TWIN
        for (int w = 0; w < (n + 31) / 32; ++w) best = max(best, warp_best[w]);
#else
        for (int w = 0; w < 32; ++w) best = max(best, warp_best[w]);
#endif
        *out = best;
    }
}

int main()
{
    const int n = 80;
    int x[n], best = 0, *dx, *out;
    for (int i = 0; i < n; ++i) x[i] = i * 13 % 101;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&out, sizeof best);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    row_max<<<1, n>>>(dx, out, n);
    if (cudaMemcpy(&best, out, sizeof best, cudaMemcpyDeviceToHost)) return 2;
    printf("maximum %d\n", best);
    return best == 100 ? 0 : 1;
}
