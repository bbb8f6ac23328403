//: class = "D2"
//: group = "order"
//: cause = ["unordered-access", "threads-collide"]
//: kernel = ["square_into", "sum_from"]
//: other = ["square_into", "sum_from"]
//: plain = "sometimes"
//: fault = "Two threads with streams of their own use one scratch buffer."
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

__global__ void square_into(int *scratch, int value, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    scratch[threadIdx.x] = value * value + (v == 6 ? 1 : 0);
}

__global__ void sum_from(const int *scratch, int *out)
{
    int sum = 0;
    for (int i = 0; i < 256; ++i) sum += scratch[i];
    *out = sum;
}

struct Worker {
    int value, wrong = 0;
    int *scratch;
    void run()
    {
        cudaStream_t s;
        int *out, host = 0;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaMalloc(&out, sizeof(int));
        for (int i = 0; i < 20; ++i) {
            square_into<<<1, 256, 0, s>>>(scratch, value, 100000);
            sum_from<<<1, 1, 0, s>>>(scratch, out);
            cudaMemcpyAsync(&host, out, sizeof host, cudaMemcpyDeviceToHost, s);
            cudaStreamSynchronize(s);
            wrong += host != 256 * value * value;
        }
        cudaFree(out);
        cudaStreamDestroy(s);
    }
};

int main()
{
    int *shared, *own;
    cudaMalloc(&shared, 256 * sizeof(int));
    cudaMalloc(&own, 256 * sizeof(int));
#ifdef TWIN
    Worker a{2, 0, shared}, b{3, 0, own};
#else
    Worker a{2, 0, shared}, b{3, 0, shared}; // FAULT
#endif
    std::thread ta(&Worker::run, &a), tb(&Worker::run, &b);
    ta.join();
    tb.join();
    printf("%d wrong sums\n", a.wrong + b.wrong);
    return a.wrong + b.wrong ? 1 : 0;
}
