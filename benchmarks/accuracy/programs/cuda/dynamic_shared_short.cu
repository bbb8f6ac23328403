//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "block_maximum"
//: launch = 1
//: plain = "sometimes"
//: fault = "The launch gives dynamic shared memory for 256 floats, the kernel uses a (value, index) pair per thread."
#include <cstdio>
#include <cuda_runtime.h>

struct Candidate {
    float value;
    int index;
};

extern __shared__ Candidate candidates[];

__global__ void block_maximum(const float *x, Candidate *best)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    candidates[t] = {x[i], i};
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (t < half && candidates[t + half].value > candidates[t].value) candidates[t] = candidates[t + half];
        __syncthreads();
    }
    if (t == 0) best[blockIdx.x] = candidates[0];
}

int main()
{
    const int blocks = 64, threads = 256;
    float *x;
    Candidate *best;
    cudaMallocManaged(&x, blocks * threads * sizeof(float));
    cudaMallocManaged(&best, blocks * sizeof(Candidate));
    for (int i = 0; i < blocks * threads; ++i) x[i] = (float)((i * 7919) % 16381);
#ifdef TWIN
    size_t shared = threads * sizeof(Candidate);
#else
    size_t shared = threads * sizeof(float); // FAULT
#endif
    block_maximum<<<blocks, threads, shared>>>(x, best);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    float most = 0;
    for (int b = 0; b < blocks; ++b) most = best[b].value > most ? best[b].value : most;
    printf("maximum %g\n", most);
    return 0;
}
