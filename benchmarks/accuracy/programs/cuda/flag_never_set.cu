//: class = "I"
//: cause = ["hang"]
//: kernel = "consumer"
//: launch = 1
//: plain = "hang"
//: fault = "The consumer is launched first on the same stream and waits for a flag that the producer behind it would set."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void producer(volatile int *flag, int *data)
{
    *data = 99;
    __threadfence();
    *flag = 1;
}

__global__ void consumer(volatile int *flag, const int *data, int *out)
{
    while (*flag == 0) {
    }
    __threadfence();
    *out = *(volatile const int *)data;
}

int main()
{
    int *flag, *data, *out, host = 0;
    cudaMalloc((void **)&flag, sizeof(int));
    cudaMalloc((void **)&data, sizeof(int));
    cudaMalloc((void **)&out, sizeof(int));
    cudaMemset(flag, 0, sizeof(int));
#ifdef TWIN
    producer<<<1, 1>>>(flag, data);
    consumer<<<1, 1>>>(flag, data, out);
#else
    consumer<<<1, 1>>>(flag, data, out); // FAULT
    producer<<<1, 1>>>(flag, data);
#endif
    cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d\n", host);
    return host == 99 ? 0 : 1;
}
