//: class = "A4"
//: cause = ["host-pointer-on-device"]
//: kernel = "sum_batches"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "The buffers are on the device, the table of their addresses is not."
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define TRY(x) do { if ((x) != cudaSuccess) { fprintf(stderr, "line %d\n", __LINE__); return 1; } } while (0)

__global__ void sum_batches(float *out, float **batches, int count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int b = 0; b < count; ++b) s += batches[b][i];
    out[i] = s;
}

int main(void)
{
    const int count = 6, n = 1024;
    float **table = (float **)malloc(count * sizeof *table), *out, result;
    for (int b = 0; b < count; ++b) {
        TRY(cudaMalloc((void **)&table[b], n * sizeof(float)));
        TRY(cudaMemset(table[b], 0, n * sizeof(float)));
    }
    TRY(cudaMalloc((void **)&out, n * sizeof(float)));
#ifdef TWIN
    float **device_table;
    TRY(cudaMalloc((void **)&device_table, count * sizeof *table));
    TRY(cudaMemcpy(device_table, table, count * sizeof *table, cudaMemcpyHostToDevice));
#else
    float **device_table = table; // FAULT
#endif
    sum_batches<<<n / 128, 128>>>(out, device_table, count, n);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
    printf("%g\n", result);
    return 0;
}
