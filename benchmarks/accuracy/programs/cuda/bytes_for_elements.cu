//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer"]
//: kernel = "iota"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The allocation gets the number of elements where it wants bytes."
#include <stdio.h>
#include <cuda_runtime.h>

__global__ void iota(unsigned *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

int main(void)
{
    unsigned n = 8u << 20, *out = NULL, last = 0;
#ifdef TWIN
    cudaMalloc((void **)&out, n * sizeof(unsigned));
#else
    cudaMalloc((void **)&out, n); // FAULT
#endif
    iota<<<n / 256, 256>>>(out, n);
    cudaError_t e = cudaStreamSynchronize(0);
    if (e != cudaSuccess) {
        fprintf(stderr, "iota: error %d\n", (int)e);
        return 1;
    }
    cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost);
    printf("%u\n", last);
    return last == n - 1 ? 0 : 1;
}
