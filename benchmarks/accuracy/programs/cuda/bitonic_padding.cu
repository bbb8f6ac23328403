//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "bitonic_step"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The sorting network runs over the next power of two, the buffer holds only the keys."
#include <climits>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void bitonic_step(int *keys, int j, int k)
{
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    unsigned partner = i ^ j;
    if (partner <= i) return;
    bool up = (i & k) == 0;
    int a = keys[i], b = keys[partner];
    if ((a > b) == up) {
        keys[i] = b;
        keys[partner] = a;
    }
}

int main()
{
    const int n = 2500000;
    int padded = 1;
    while (padded < n) padded *= 2;
#ifdef TWIN
    const int room = padded;
#else
    const int room = n; // FAULT
#endif
    std::vector<int> keys(room, INT_MAX);
    unsigned seed = 12345;
    for (int i = 0; i < n; ++i) keys[i] = (int)((seed = seed * 1664525u + 1013904223u) >> 8);
    int *d_keys;
    cudaMalloc(&d_keys, room * sizeof(int));
    cudaMemcpy(d_keys, keys.data(), room * sizeof(int), cudaMemcpyHostToDevice);
    for (int k = 2; k <= padded; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) bitonic_step<<<padded / 512, 512>>>(d_keys, j, k);
    cudaMemcpy(keys.data(), d_keys, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
        printf("sort failed (%d)\n", status);
        return 1;
    }
    for (int i = 1; i < n; ++i)
        if (keys[i - 1] > keys[i]) return puts("not sorted"), 1;
    puts("sorted");
}
