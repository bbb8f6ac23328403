//: class = "B1"
//: group = "order"
//: cause = ["unordered-access", "read-before-write"]
//: kernel = ["produce", "consume", "weigh"]
//: plain = "exit"
//: fault = "Two faults at once: the weights are never set, and the consumer does not wait for the producer."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void spoil(float *x) { x[threadIdx.x] = 1e6f; }

__global__ void produce(float *x, int rounds)
{
    float v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 0.25f + 1.0f;
    x[threadIdx.x] = v < 0 ? v : 2.0f;
}

__global__ void consume(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * 10; }

__global__ void weigh(const float *weights, float *y) { y[threadIdx.x] += weights[threadIdx.x]; }

int main()
{
    float *old, *x, *y, *weights, host[64];
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMalloc(&old, sizeof host);
    spoil<<<1, 64>>>(old);
    cudaFree(old);
    cudaMalloc(&weights, sizeof host); // FAULT
#ifdef TWIN
    cudaMemset(weights, 0, sizeof host);
#endif
    cudaMemset(x, 0, sizeof host);
    cudaDeviceSynchronize();
    produce<<<1, 64, 0, a>>>(x, 8000000);
#ifdef TWIN
    cudaStreamSynchronize(a);
#endif
    consume<<<1, 64, 0, b>>>(x, y);
    weigh<<<1, 64, 0, b>>>(weights, y);
    cudaDeviceSynchronize();
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    printf("%g\n", host[0]);
    return host[0] == 20.0f ? 0 : 1;
}
