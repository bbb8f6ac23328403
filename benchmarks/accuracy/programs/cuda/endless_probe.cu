//: class = "I"
//: cause = ["hang"]
//: kernel = "insert"
//: launch = 1
//: plain = "hang"
//: fault = "The hash table has fewer slots than keys: probing for a free slot never ends."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define EMPTY 0xffffffffu

__global__ void insert(unsigned *table, unsigned capacity, const unsigned *keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], slot = key * 2654435761u % capacity;
    for (;;) {
        unsigned old = atomicCAS(&table[slot], EMPTY, key);
        if (old == EMPTY || old == key) return;
        slot = (slot + 1) % capacity;
    }
}

int main()
{
    const int n = 10000;
#ifdef TWIN
    const unsigned capacity = 2 * n;
#else
    const unsigned capacity = n - 1000; // FAULT
#endif
    unsigned *host = (unsigned *)malloc(n * sizeof(unsigned)), *keys, *table;
    for (int i = 0; i < n; ++i) host[i] = i * 7u + 1;
    cudaMalloc(&keys, n * sizeof(unsigned));
    cudaMalloc(&table, capacity * sizeof(unsigned));
    cudaMemcpy(keys, host, n * sizeof(unsigned), cudaMemcpyHostToDevice);
    cudaMemset(table, 0xff, capacity * sizeof(unsigned));
    insert<<<(n + 127) / 128, 128>>>(table, capacity, keys, n);
    cudaError_t e = cudaDeviceSynchronize();
    puts(cudaGetErrorString(e));
    return e != cudaSuccess;
}
