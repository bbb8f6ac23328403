//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: an asynchronous copy from pageable memory of up to 64 KiB is staged at the call, so the source may change afterwards."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int *sum, const int *value) { *sum += *value; }

int main()
{
    int *sum, *value, host = 0;
    cudaStream_t stream;
    if (cudaMalloc(&sum, sizeof(int)) || cudaMalloc(&value, sizeof(int)) || cudaStreamCreate(&stream)) return 2;
    if (cudaMemset(sum, 0, sizeof(int)) || cudaDeviceSynchronize()) return 2;
    for (int i = 1; i <= 100; ++i) {
        int here = i;
        if (cudaMemcpyAsync(value, &here, sizeof here, cudaMemcpyHostToDevice, stream)) return 2;
        here = -1000;
        add<<<1, 1, 0, stream>>>(sum, value);
    }
    if (cudaStreamSynchronize(stream) || cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost)) return 2;
    printf("%d\n", host);
    return host == 5050 ? 0 : 1;
}
