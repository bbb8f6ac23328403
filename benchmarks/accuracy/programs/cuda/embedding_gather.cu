//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "gather_rows"
//: launch = 1
//: argument = [1, 2]
//: plain = "exit"
//: fault = "Token 70000000 is no row of the table; nothing checks the indices that the file gave."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Table {
    const float *rows;
    int count, width;
};

__global__ void gather_rows(float *out, Table table, const int *ids, int n)
{
    int row = blockIdx.x;
    if (row >= n) return;
    for (int c = threadIdx.x; c < table.width; c += blockDim.x)
        out[row * table.width + c] = table.rows[(size_t)ids[row] * table.width + c];
}

static void must(cudaError_t status, const char *what)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(status));
    exit(3);
}

int main()
{
    const int vocabulary = 5000, width = 96, n = 64;
    int ids[n];
    for (int i = 0; i < n; ++i) ids[i] = i * 37 % vocabulary;
#ifndef TWIN
    ids[41] = 70000000; // FAULT
#endif
    float *rows, *out;
    int *d_ids;
    must(cudaMalloc(&rows, sizeof(float) * vocabulary * width), "table");
    must(cudaMemset(rows, 0, sizeof(float) * vocabulary * width), "table");
    must(cudaMalloc(&out, sizeof(float) * n * width), "output");
    must(cudaMalloc(&d_ids, sizeof ids), "ids");
    must(cudaMemcpy(d_ids, ids, sizeof ids, cudaMemcpyHostToDevice), "ids");
    gather_rows<<<n, 32>>>(out, Table{rows, vocabulary, width}, d_ids, n);
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "gather");
    puts("gathered");
    return 0;
}
