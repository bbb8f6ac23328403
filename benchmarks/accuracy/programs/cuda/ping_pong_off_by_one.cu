//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["compute"]
//: call = ["cudaMemcpyAsync"]
//: other = ["cudaMemcpyAsync", "compute"]
//: plain = "exit"
//: fault = "The double-buffered upload of chunk i + 1 goes into the slot that chunk i is computed from."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void compute(const int *slot, long long *sum, int n, int rounds)
{
    unsigned v = 1;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    long long s = v == 0 ? 1 : 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += slot[i];
    atomicAdd((unsigned long long *)sum, (unsigned long long)s);
}

int main()
{
    const int n = 1 << 16, chunks = 6;
    int *host, *slot[2];
    long long *sums, result[chunks];
    cudaStream_t up, work;
    cudaEvent_t uploaded[2], computed[2];
    cudaMallocHost(&host, chunks * n * sizeof(int));
    for (int c = 0; c < chunks; ++c)
        for (int i = 0; i < n; ++i) host[c * n + i] = c + 1;
    cudaMalloc(&sums, sizeof result);
    cudaMemset(sums, 0, sizeof result);
    cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    for (int s = 0; s < 2; ++s) {
        cudaMalloc(&slot[s], n * sizeof(int));
        cudaEventCreateWithFlags(&uploaded[s], cudaEventDisableTiming);
        cudaEventCreateWithFlags(&computed[s], cudaEventDisableTiming);
    }
    cudaDeviceSynchronize();
    for (int c = 0; c < chunks; ++c) {
        int s = c % 2;
#ifdef TWIN
        if (c >= 2) cudaStreamWaitEvent(up, computed[s], 0);
#else
        if (c >= 2) cudaStreamWaitEvent(up, computed[0], 0); // FAULT
        s = c < 2 ? c : 1;
#endif
        cudaMemcpyAsync(slot[s], host + c * n, n * sizeof(int), cudaMemcpyHostToDevice, up);
        cudaEventRecord(uploaded[s], up);
        cudaStreamWaitEvent(work, uploaded[s], 0);
        compute<<<1, 256, 0, work>>>(slot[s], sums + c, n, 3000000);
        cudaEventRecord(computed[s], work);
    }
    cudaDeviceSynchronize();
    cudaMemcpy(result, sums, sizeof result, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int c = 0; c < chunks; ++c) wrong += result[c] != (long long)n * (c + 1);
    printf("%d wrong chunks\n", wrong);
    return wrong ? 1 : 0;
}
