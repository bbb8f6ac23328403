//: class = "F1"
//: cause = ["wrong-architecture"]
//: kernel = "hello"
//: launch = 1
//: arch = ["-gencode", "arch=compute_100,code=sm_100"]
//: plain = "exit"
//: fault = "The binary holds machine code for sm_100 only and no PTX."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void hello(int *x) { *x = 21 * 2; } // FAULT

int main()
{
    int *x, host = 0;
    cudaMalloc(&x, sizeof *x);
    hello<<<1, 1>>>(x);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) {
        fprintf(stderr, "hello: %s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d\n", host);
    return host == 42 ? 0 : 1;
}
