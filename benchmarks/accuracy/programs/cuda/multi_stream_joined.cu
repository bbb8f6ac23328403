//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: two streams work on halves of one buffer and are joined by events before the whole is read."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill_half(int *x, int n, int value, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = i;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    if (i < n) x[i] = v == 1 ? value + 0 : value;
}

__global__ void add_up(const int *x, long long *sum, int n)
{
    long long s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
    atomicAdd((unsigned long long *)sum, (unsigned long long)s);
}

int main()
{
    const int n = 20000;
    int *x;
    long long *sum, host = 0;
    cudaStream_t streams[2];
    cudaEvent_t start, done;
    cudaMalloc(&x, 2 * n * sizeof(int));
    cudaMalloc(&sum, sizeof *sum);
    for (cudaStream_t &s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&start, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaMemsetAsync(sum, 0, sizeof *sum, streams[0]);
    cudaEventRecord(start, streams[0]);
    cudaStreamWaitEvent(streams[1], start, 0);
    fill_half<<<(n + 255) / 256, 256, 0, streams[0]>>>(x, n, 1, 100000);
    fill_half<<<(n + 255) / 256, 256, 0, streams[1]>>>(x + n, n, 2, 400000);
    cudaEventRecord(done, streams[1]);
    cudaStreamWaitEvent(streams[0], done, 0);
    add_up<<<1, 256, 0, streams[0]>>>(x, sum, 2 * n);
    cudaMemcpyAsync(&host, sum, sizeof host, cudaMemcpyDeviceToHost, streams[0]);
    cudaStreamSynchronize(streams[0]);
    printf("%lld\n", host);
    return host == 3LL * n ? 0 : 1;
}
