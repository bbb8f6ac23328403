//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "append"
//: launch = 5
//: argument = 0
//: plain = "silent"
//: fault = "The write position is wrapped after the batch, not per element: the fifth batch runs over the end."
#include <cstdio>
#include <cuda_runtime.h>

class Ring {
public:
    explicit Ring(unsigned capacity) : capacity_(capacity) { cudaMalloc(&data_, capacity * sizeof(long long)); }
    ~Ring() { cudaFree(data_); }
    void append(unsigned count, long long stamp);
    long long *data() const { return data_; }

private:
    long long *data_ = nullptr;
    unsigned capacity_, head_ = 0;
};

__global__ void append(long long *ring, unsigned head, unsigned count, unsigned capacity, long long stamp)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
#ifdef TWIN
    ring[(head + i) % capacity] = stamp + i;
#else
    ring[head + i] = stamp + i; // FAULT
#endif
}

void Ring::append(unsigned count, long long stamp)
{
    ::append<<<(count + 63) / 64, 64>>>(data_, head_, count, capacity_, stamp);
    head_ = (head_ + count) % capacity_;
}

int main()
{
    Ring ring(4096), other(64);
    for (int batch = 0; batch < 9; ++batch) ring.append(900, batch * 1000000LL);
    long long first;
    if (cudaMemcpy(&first, ring.data(), sizeof first, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    printf("slot 0 holds %lld\n", first);
}
