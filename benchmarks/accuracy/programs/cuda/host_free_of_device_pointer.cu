//: class = "A5"
//: cause = ["wrong-free", "failed-call", "ignored-error"]
//: call = "cudaFreeHost"
//: plain = "exit"
//: fault = "Device memory is given to cudaFreeHost; the check behind the next launch reports it."
#include <cstdio>
#include <cuda_runtime.h>

enum Place { HOST, DEVICE };

struct Block {
    void *p;
    Place place;
};

static Block take(size_t bytes, Place place)
{
    Block b{nullptr, place};
    if (place == HOST) cudaMallocHost(&b.p, bytes);
    else cudaMalloc(&b.p, bytes);
    return b;
}

static void give_back(Block b)
{
#ifdef TWIN
    if (b.place == HOST) cudaFreeHost(b.p);
    else cudaFree(b.p);
#else
    cudaFreeHost(b.p); // FAULT
#endif
}

__global__ void touch(char *p) { p[threadIdx.x] = 1; }

int main()
{
    Block host = take(1 << 16, HOST), device = take(1 << 16, DEVICE), second = take(1 << 16, DEVICE);
    touch<<<1, 64>>>((char *)device.p);
    cudaDeviceSynchronize();
    give_back(host);
    give_back(device);
    touch<<<1, 64>>>((char *)second.p);
    cudaError_t e = cudaGetLastError();
    printf("touch: %s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
