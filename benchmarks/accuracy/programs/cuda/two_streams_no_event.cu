//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["produce", "consume"]
//: other = ["produce", "consume"]
//: plain = "exit"
//: fault = "The consumer runs on another stream and nothing makes it wait for the producer."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void produce(int *x, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = i;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    if (i < n) x[i] = v == 1 ? 6 : 7;
}

__global__ void consume(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}

int main()
{
    const int n = 4096;
    int *x, *y, host[n], wrong = 0;
    cudaStream_t a, b;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMemset(x, 0, sizeof host);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    produce<<<n / 128, 128, 0, a>>>(x, n, 3000000);
#ifdef TWIN
    cudaEvent_t done;
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventRecord(done, a);
    cudaStreamWaitEvent(b, done, 0);
#endif
    consume<<<n / 128, 128, 0, b>>>(x, y, n); // FAULT
    cudaDeviceSynchronize();
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    for (int v : host) wrong += v != 8;
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
