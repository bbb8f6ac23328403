//: class = "G1"
//: cause = ["ignored-error", "failed-call"]
//: call = "cudaHostRegister"
//: plain = "exit"
//: fault = "Registering the same pages twice fails; the error stays and is printed as the launch's."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

static void pin(void *p, size_t bytes)
{
    cudaHostRegister(p, bytes, cudaHostRegisterDefault); // FAULT
#ifdef TWIN
    cudaGetLastError(); // already pinned is fine
#endif
}

int main()
{
    const int n = 1 << 20;
    float *host = (float *)aligned_alloc(4096, n * sizeof(float)), *x;
    for (int i = 0; i < n; ++i) host[i] = 1;
    cudaMalloc(&x, n * sizeof(float));
    pin(host, n * sizeof(float));
    pin(host, n * sizeof(float)); // the loader pins again
    cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<n / 256, 256>>>(x, n);
    if (cudaError_t e = cudaGetLastError()) {
        fprintf(stderr, "scale failed: %s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaMemcpy(host, x, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", host[5]);
    return 0;
}
