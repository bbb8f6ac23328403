//: class = "C1"
//: cause = ["race-in-kernel", "warp-size-assumption"]
//: kernel = "warp_sum"
//: launch = 1
//: plain = "sometimes"
//: fault = "The last steps of the reduction rely on a warp running in lockstep."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void warp_sum(const float *x, float *out)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        for (int d = 32; d; d >>= 1) {
            float other = s[t + d < 64 ? t + d : t];
#ifdef TWIN
            __syncwarp();
#endif
            if (t < d) s[t] += other; // FAULT
#ifdef TWIN
            __syncwarp();
#endif
        }
        if (t == 0) out[blockIdx.x] = s[0];
    }
}

int main()
{
    const int blocks = 512;
    float *x, *out;
    cudaMallocManaged(&x, blocks * 64 * sizeof(float));
    cudaMallocManaged(&out, blocks * sizeof(float));
    for (int i = 0; i < blocks * 64; ++i) x[i] = 1.0f;
    warp_sum<<<blocks, 64>>>(x, out);
    cudaError_t e = cudaDeviceSynchronize();
    int bad = 0;
    for (int b = 0; b < blocks; ++b) bad += out[b] != 64.0f;
    printf("%s, %d wrong sums\n", cudaGetErrorString(e), bad);
    return e || bad ? 1 : 0;
}
