//: class = "B4"
//: cause = ["host-memory-changed-under-copy"]
//: call = "cudaMemcpyAsync"
//: plain = "exit"
//: fault = "The pinned staging buffer is refilled for the next chunk while the copy of the last one still reads it."
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void digest(const unsigned char *last, unsigned *sum, int rounds)
{
    unsigned v = last ? last[threadIdx.x] : 1;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    atomicAdd(sum, v);
}

int main()
{
    const size_t chunk = 32 << 20;
    const int chunks = 4;
    unsigned char *staging, *device;
    unsigned *sum;
    cudaStream_t stream;
    cudaMallocHost(&staging, chunk);
    cudaMalloc(&device, chunk * chunks);
    cudaMalloc(&sum, sizeof *sum);
    cudaMemset(sum, 0, sizeof *sum);
    cudaStreamCreate(&stream);
    for (int c = 0; c < chunks; ++c) {
        digest<<<1, 32, 0, stream>>>(c ? device + (c - 1) * chunk : nullptr, sum, 8000000);
        memset(staging, c + 1, chunk);
        cudaMemcpyAsync(device + c * chunk, staging, chunk, cudaMemcpyHostToDevice, stream); // FAULT
#ifdef TWIN
        cudaStreamSynchronize(stream);
#endif
    }
    cudaStreamSynchronize(stream);
    int wrong = 0;
    for (int c = 0; c < chunks; ++c) {
        unsigned char last;
        cudaMemcpy(&last, device + (c + 1) * chunk - 1, 1, cudaMemcpyDeviceToHost);
        wrong += last != c + 1;
    }
    printf("%d of %d chunks are wrong\n", wrong, chunks);
    return wrong ? 1 : 0;
}
