//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy"]
//: call = "cudaMemcpyAsync"
//: plain = "exit"
//: fault = "A pool of pinned blocks gives a block back at once; the next request overwrites it while its copy waits in the stream."
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <deque>

__global__ void occupy(int *scratch, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    scratch[threadIdx.x] = v;
}

class PinnedPool {
public:
    PinnedPool(int blocks, size_t bytes)
    {
        for (int i = 0; i < blocks; ++i) {
            void *p;
            cudaMallocHost(&p, bytes);
            free_.push_front(p);
        }
    }
    void *take()
    {
        void *p = free_.front();
        free_.pop_front();
        return p;
    }
    void give_back(void *p) { free_.push_front(p); }

private:
    std::deque<void *> free_;
};

int main()
{
    const size_t bytes = 1 << 20;
    PinnedPool pool(4, bytes);
    cudaStream_t s;
    char *device;
    int *scratch;
    cudaStreamCreate(&s);
    cudaMalloc(&device, 3 * bytes);
    cudaMalloc(&scratch, 128);
    occupy<<<1, 32, 0, s>>>(scratch, 8000000);
    for (int request = 0; request < 3; ++request) {
        void *block = pool.take();
        memset(block, 'a' + request, bytes);
        cudaMemcpyAsync(device + request * bytes, block, bytes, cudaMemcpyHostToDevice, s);
#ifdef TWIN
        cudaStreamSynchronize(s);
#endif
        pool.give_back(block); // FAULT
    }
    cudaStreamSynchronize(s);
    char seen[4] = {};
    for (int i = 0; i < 3; ++i) cudaMemcpy(seen + i, device + i * bytes, 1, cudaMemcpyDeviceToHost);
    printf("%s\n", seen);
    return strcmp(seen, "abc") ? 1 : 0;
}
