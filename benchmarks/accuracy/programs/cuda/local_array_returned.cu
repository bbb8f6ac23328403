//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy"]
//: call = "cudaMemcpyAsync"
//: plain = "exit"
//: fault = "Parameters are built in a function's local, registered buffer; the function returns before the copy has run."
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <memory>

__global__ void occupy(int *scratch, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 214013u + 2531011u;
    scratch[threadIdx.x] = v;
}

struct Pinned {
    int *p;
    explicit Pinned(size_t n) { cudaMallocHost(&p, n * sizeof(int)); }
};

static Pinned &slab()
{
    static Pinned s(4096);
    return s;
}

// A bump allocator over the slab: what a scope took is free again when the scope ends.
struct Scope {
    static inline size_t top = 0;
    size_t mark = top;
    int *take(size_t n)
    {
        int *p = slab().p + top;
        top += n;
        return p;
    }
    ~Scope() { top = mark; }
};

static void send(int *device, int value, cudaStream_t s)
{
    Scope scope;
    int *parameters = scope.take(64);
    for (int i = 0; i < 64; ++i) parameters[i] = value;
    cudaMemcpyAsync(device, parameters, 64 * sizeof(int), cudaMemcpyHostToDevice, s); // FAULT
#ifdef TWIN
    cudaStreamSynchronize(s);
#endif
}

int main()
{
    int *first, *second, *scratch, a = 0, b = 0;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&first, 256);
    cudaMalloc(&second, 256);
    cudaMalloc(&scratch, 128);
    slab();
    occupy<<<1, 32, 0, s>>>(scratch, 8000000);
    send(first, 1, s);
    send(second, 2, s);
    cudaStreamSynchronize(s);
    cudaMemcpy(&a, first, sizeof a, cudaMemcpyDeviceToHost);
    cudaMemcpy(&b, second, sizeof b, cudaMemcpyDeviceToHost);
    printf("%d %d\n", a, b);
    return a == 1 && b == 2 ? 0 : 1;
}
