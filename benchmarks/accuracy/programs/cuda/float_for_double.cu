//: class = "D1"
//: cause = ["argument-type", "argument-size"]
//: kernel = "exponential"
//: launch = 1
//: argument = 2
//: plain = "exit"
//: fault = "The rate is a float on the host, the kernel takes a double: it reads the four bytes beside it as well."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void exponential(double *y, int n, double rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = exp(-rate * i);
}

int main()
{
    const int count = 64;
    double *y, host[count];
    if (cudaMalloc(&y, sizeof host) != cudaSuccess) return 2;
    int n = count;
#ifdef TWIN
    double rate[1] = {0.5};
#else
    float rate[2] = {0.5f, 1.0f}; // FAULT
#endif
    void *arguments[] = {&y, &n, &rate[0]};
    if (cudaLaunchKernel((const void *)exponential, dim3(1), dim3(64), arguments, 0, nullptr) != cudaSuccess) return 2;
    if (cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    printf("y[2] = %.5f\n", host[2]);
    return host[2] > 0.367 && host[2] < 0.369 ? 0 : 1;
}
