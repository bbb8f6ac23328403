//: class = "H1"
//: group = "order"
//: cause = ["read-before-write"]
//: kernel = "read_header"
//: launch = 2
//: argument = 0
//: plain = "exit"
//: fault = "Only the first half of each record is uploaded; the kernel reads a field of the second half."
#include <cstdio>
#include <cuda_runtime.h>

struct Record {
    int id, kind;
    float weight, bias;
};

__global__ void spoil(unsigned *x) { x[threadIdx.x] = 0x7f7f7f7f; }

__global__ void read_header(const Record *records, float *sum, int n)
{
    int i = threadIdx.x;
    if (i < n) atomicAdd(sum, records[i].weight);
}

int main()
{
    const int n = 64;
    Record host[n];
    unsigned *old;
    Record *records;
    float *sum, result = 0;
    for (int i = 0; i < n; ++i) host[i] = {i, 0, 0.5f, 0.0f};
    cudaMalloc(&old, 1024);
    spoil<<<1, 256>>>(old);
    cudaFree(old);
    cudaMalloc(&records, sizeof host);
    cudaMalloc(&sum, sizeof(float));
    cudaMemset(sum, 0, sizeof(float));
#ifdef TWIN
    cudaMemcpy2D(records, sizeof(Record), host, sizeof(Record), sizeof(Record), n, cudaMemcpyHostToDevice);
#else
    cudaMemcpy2D(records, sizeof(Record), host, sizeof(Record), 8, n, cudaMemcpyHostToDevice); // FAULT
#endif
    read_header<<<1, 64>>>(records, sum, n);
    if (cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost)) return 2;
    printf("weight %g\n", result);
    return result == 32.0f ? 0 : 1;
}
