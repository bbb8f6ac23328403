//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: a correct program that polls flags written by other blocks; any confirmed or likely cause is an alarm."
#include <cstdio>
#include <cuda/atomic>
#include <cuda_runtime.h>

__global__ void chained_sum(const int *x, int *out, int *aggregate, unsigned *ready, unsigned *ticket)
{
    __shared__ unsigned block;
    __shared__ int before;
    if (threadIdx.x == 0) block = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned b = block;
    if (threadIdx.x == 0) {
        int previous = 0;
        if (b > 0) {
            cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(ready[b - 1]);
            while (flag.load(cuda::memory_order_acquire) == 0) __nanosleep(50);
            previous = aggregate[b - 1];
        }
        int sum = 0;
        for (int i = 0; i < 64; ++i) sum += x[b * 64 + i];
        aggregate[b] = previous + sum;
        cuda::atomic_ref<unsigned, cuda::thread_scope_device>(ready[b]).store(1, cuda::memory_order_release);
        before = previous;
    }
    __syncthreads();
    int mine = before;
    for (int i = 0; i <= (int)threadIdx.x; ++i) mine += x[b * 64 + i];
    out[b * 64 + threadIdx.x] = mine;
}

int main()
{
    const int blocks = 400, n = blocks * 64;
    int *x, *out, *aggregate, last = 0;
    unsigned *ready;
    cudaMalloc(&x, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMalloc(&aggregate, blocks * sizeof(int));
    cudaMalloc(&ready, (blocks + 1) * sizeof(unsigned));
    cudaMemset(x, 0, n * sizeof(int));
    cudaMemset(ready, 0, (blocks + 1) * sizeof(unsigned));
    chained_sum<<<blocks, 64>>>(x, out, aggregate, ready, ready + blocks);
    if (cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost)) return 1;
    printf("%d\n", last);
    return last != 0;
}
