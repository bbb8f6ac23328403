//: class = "B1"
//: cause = ["copy-overlap"]
//: call = "cudaMemcpy"
//: plain = "silent"
//: fault = "The queue is moved forward with one copy whose source and destination overlap."
#include <cstdio>
#include <cuda_runtime.h>
#include <numeric>
#include <vector>

int main()
{
    const int n = 1 << 20, shift = 1000;
    std::vector<int> host(n);
    std::iota(host.begin(), host.end(), 0);
    int *queue;
    if (cudaMalloc(&queue, n * sizeof(int)) != cudaSuccess) return 2;
    cudaMemcpy(queue, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
#ifdef TWIN
    int *scratch;
    cudaMalloc(&scratch, n * sizeof(int));
    cudaMemcpy(scratch, queue, (n - shift) * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaMemcpy(queue + shift, scratch, (n - shift) * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(scratch);
#else
    cudaMemcpy(queue + shift, queue, (n - shift) * sizeof(int), cudaMemcpyDeviceToDevice); // FAULT
#endif
    cudaMemcpy(host.data(), queue, n * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = shift; i < n; ++i) wrong += host[i] != i - shift;
    printf("%d entries moved wrongly\n", wrong);
    cudaFree(queue);
    return 0;
}
