//: class = "B2"
//: group = "order"
//: cause = ["unordered-access", "freed-while-in-use"]
//: kernel = ["side_sum", "refill"]
//: other = ["side_sum", "refill"]
//: plain = "exit"
//: fault = "The program's own block cache hands a block out again although a side stream still reads it."
#include <cstdio>
#include <cuda_runtime.h>
#include <map>
#include <vector>

class Cache {
public:
    explicit Cache(size_t bytes) { cudaMalloc(&base_, bytes); }
    ~Cache() { cudaFree(base_); }
    void *take(size_t bytes)
    {
        bytes = (bytes + 511) / 512 * 512;
        auto &list = free_[bytes];
        if (!list.empty()) {
            void *p = list.back();
            list.pop_back();
            return p;
        }
        void *p = base_ + used_;
        used_ += bytes;
        return p;
    }
    void give_back(void *p, size_t bytes) { free_[(bytes + 511) / 512 * 512].push_back(p); }

private:
    char *base_ = nullptr;
    size_t used_ = 0;
    std::map<size_t, std::vector<void *>> free_;
};

__global__ void refill(int *x, int value) { x[threadIdx.x] = value; }

__global__ void side_sum(const int *x, int *out, int rounds)
{
    unsigned v = 5;
    for (int r = 0; r < rounds; ++r) v = v * 69069u + 1u;
    int sum = v == 5 ? 1 : 0;
    for (int i = 0; i < 256; ++i) sum += ((volatile const int *)x)[i];
    *out = sum;
}

int main()
{
    Cache cache(1 << 20);
    cudaStream_t main_stream, side;
    cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    int *out, host = 0;
    cudaMalloc(&out, sizeof(int));
    int *batch = (int *)cache.take(256 * sizeof(int));
    refill<<<1, 256, 0, main_stream>>>(batch, 1);
    cudaStreamSynchronize(main_stream);
    side_sum<<<1, 1, 0, side>>>(batch, out, 8000000);
#ifdef TWIN
    cudaStreamSynchronize(side);
#endif
    cache.give_back(batch, 256 * sizeof(int)); // FAULT
    int *next = (int *)cache.take(250 * sizeof(int));
    refill<<<1, 250, 0, main_stream>>>(next, 100);
    cudaDeviceSynchronize();
    cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("sum %d\n", host);
    return host == 256 ? 0 : 1;
}
