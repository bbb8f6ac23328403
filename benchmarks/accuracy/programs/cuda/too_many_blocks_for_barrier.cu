//: class = "I"
//: cause = ["hang"]
//: kernel = "two_phase"
//: launch = 1
//: plain = "hang"
//: fault = "A barrier over the whole grid spins in blocks that occupy the device, while the rest of the grid waits to start."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void two_phase(int *x, unsigned *arrived)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < gridDim.x) __nanosleep(200);
    }
    __syncthreads();
    int n = gridDim.x * blockDim.x;
    int other = ((volatile int *)x)[n - 1 - i];
    if (other != n - 1 - i) x[0] = -1;
}

int main()
{
#ifdef TWIN
    const int blocks = 64;
#else
    const int blocks = 4096; // FAULT
#endif
    int *x, first = 0;
    unsigned *arrived;
    cudaMalloc(&x, blocks * 1024 * sizeof(int));
    cudaMalloc(&arrived, sizeof *arrived);
    cudaMemset(arrived, 0, sizeof *arrived);
    two_phase<<<blocks, 1024>>>(x, arrived);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%s\n", first == 0 ? "phases in order" : "phases mixed");
    return first != 0;
}
