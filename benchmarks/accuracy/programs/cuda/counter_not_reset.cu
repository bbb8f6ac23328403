//: class = "H1"
//: cause = ["read-before-write"]
//: kernel = "collect"
//: launch = 2
//: argument = 2
//: plain = "exit"
//: fault = "The output counter is never set to zero; the list begins at whatever it holds."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void dirty(int *x) { x[threadIdx.x] = 900; }

__global__ void collect(const int *x, int *list, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % 10 == 0) {
        int at = atomicAdd(count, 1);
        if (at < 1000) list[at] = x[i];
    }
}

int main()
{
    int x[1000], found = -1, *dx, *list, *count, *before;
    for (int i = 0; i < 1000; ++i) x[i] = i;
    cudaMalloc(&before, 128);
    dirty<<<1, 32>>>(before);
    cudaFree(before);
    cudaMalloc(&count, sizeof(int));
#ifdef TWIN
    cudaMemset(count, 0, sizeof(int));
#endif
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&list, sizeof x);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    collect<<<8, 128>>>(dx, list, count, 1000); // FAULT
    cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost);
    printf("%d multiples of ten\n", found);
    return found == 100 ? 0 : 1;
}
