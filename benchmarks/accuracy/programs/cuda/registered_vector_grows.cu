//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "use-after-free"]
//: call = "cudaMemcpyAsync"
//: plain = "sometimes"
//: fault = "A registered std::vector grows while copies out of its old storage are pending."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void occupy(int *scratch, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 22695477u + 1u;
    scratch[threadIdx.x] = v;
}

int main()
{
    const size_t n = 1 << 20;
    std::vector<int> log(n, 5);
    int *device, *scratch, first = 0;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMalloc(&device, n * sizeof(int));
    cudaMalloc(&scratch, 128);
    cudaHostRegister(log.data(), n * sizeof(int), cudaHostRegisterDefault);
    occupy<<<1, 32, 0, s>>>(scratch, 8000000);
    cudaMemcpyAsync(device, log.data(), n * sizeof(int), cudaMemcpyHostToDevice, s);
#ifdef TWIN
    cudaStreamSynchronize(s);
    cudaHostUnregister(log.data());
#endif
    log.push_back(6); // FAULT
    std::vector<int> other(n, 9);
    cudaError_t e = cudaStreamSynchronize(s);
    cudaMemcpy(&first, device, sizeof first, cudaMemcpyDeviceToHost);
    printf("%s %d %zu\n", cudaGetErrorString(e), first, log.size() + other.size());
    return e == cudaSuccess && first == 5 ? 0 : 1;
}
