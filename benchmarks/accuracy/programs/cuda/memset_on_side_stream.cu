//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = "count"
//: call = ["cudaMemsetAsync"]
//: other = ["cudaMemsetAsync", "count", "busy"]
//: plain = "exit"
//: fault = "The counters are cleared on a busy side stream while the kernel that counts runs on the main one."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void busy(int *scratch, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 22695477u + 1u;
    scratch[threadIdx.x] = v;
}

__global__ void count(unsigned *counters) { atomicAdd(&counters[threadIdx.x % 16], 1u); }

int main()
{
    int *scratch;
    unsigned *counters, host[16], sum = 0;
    cudaStream_t main_stream, side;
    cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaMalloc(&scratch, 32 * sizeof(int));
    cudaMalloc(&counters, sizeof host);
    cudaMemset(counters, 0, sizeof host);
    cudaDeviceSynchronize();
    busy<<<1, 32, 0, side>>>(scratch, 10000000);
#ifdef TWIN
    cudaMemsetAsync(counters, 0, sizeof host, main_stream);
#else
    cudaMemsetAsync(counters, 0, sizeof host, side); // FAULT
#endif
    count<<<100, 256, 0, main_stream>>>(counters);
    cudaDeviceSynchronize();
    cudaMemcpy(host, counters, sizeof host, cudaMemcpyDeviceToHost);
    for (unsigned c : host) sum += c;
    printf("%u counted\n", sum);
    return sum == 25600 ? 0 : 1;
}
