//: class = "I"
//: cause = ["device-assertion"]
//: kernel = "embed"
//: launch = 2
//: plain = "exit"
//: fault = "A label of -100 (ignored by the loss) is used as an index; the kernel's assertion stops it."
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void embed(float *out, const float *table, const int *label, int classes)
{
    int row = label[blockIdx.x];
    assert(row >= 0 && row < classes);
    out[blockIdx.x] = table[row];
}

static int *upload(const int *labels, int n)
{
    int *d = nullptr;
    cudaMalloc(&d, n * sizeof(int));
    cudaMemcpy(d, labels, n * sizeof(int), cudaMemcpyHostToDevice);
    return d;
}

int main()
{
    const int n = 50, classes = 10;
    int first[n], second[n];
    for (int i = 0; i < n; ++i) first[i] = i % classes, second[i] = (i * 3) % classes;
#ifndef TWIN
    second[33] = -100; // FAULT
#endif
    float *out, *table;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&table, classes * sizeof(float));
    cudaMemset(table, 0, classes * sizeof(float));
    embed<<<n, 1>>>(out, table, upload(first, n), classes);
    embed<<<n, 1>>>(out, table, upload(second, n), classes);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
