//: class = "E2"
//: cause = ["launch-refused"]
//: kernel = "tune"
//: launch = 2
//: plain = "exit"
//: fault = "The kernel was compiled for at most 256 threads; the autotuner tries 512."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void __launch_bounds__(256) tune(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = sqrtf((float)i);
}

int main()
{
    const int n = 1 << 16;
    float *x;
    if (cudaMalloc(&x, n * sizeof(float))) return 2;
#ifdef TWIN
    const int sizes[] = {128, 256};
#else
    const int sizes[] = {256, 512}; // FAULT
#endif
    for (int threads : sizes) {
        tune<<<n / threads, threads>>>(x, n);
        cudaError_t e = cudaPeekAtLastError();
        if (e != cudaSuccess) {
            fprintf(stderr, "%d threads: %s\n", threads, cudaGetErrorString(e));
            return 1;
        }
    }
    cudaDeviceSynchronize();
    puts("tuned");
}
