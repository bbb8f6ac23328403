//: class = "A3"
//: cause = ["index-overflow", "negative-stride"]
//: kernel = "axpy_column"
//: launch = 2
//: argument = [1, 2]
//: plain = "exit"
//: fault = "The host passes the column's offset as int: 700 columns of 4,000,000 rows pass 2^31."
#include <cstdio>
#include <cuda_runtime.h>

#ifdef TWIN
typedef long long offset_t;
#else
typedef int offset_t; // FAULT
#endif

__global__ void axpy_column(const float *v, unsigned char *basis, offset_t offset, int rows)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) basis[offset + i] = (unsigned char)v[i];
}

int main()
{
    const int rows = 4000000, columns = 701;
    float *v;
    unsigned char *basis;
    cudaMalloc(&v, rows * sizeof(float));
    cudaMemset(v, 0, rows * sizeof(float));
    if (cudaMalloc(&basis, (size_t)rows * columns) != cudaSuccess) return 77;
    const int wanted[] = {0, 700, 3};
    for (int column : wanted) {
        offset_t offset = (offset_t)column * rows;
        axpy_column<<<512, 256>>>(v, basis, offset, rows);
    }
    cudaError_t e = cudaDeviceSynchronize();
    if (e) fprintf(stderr, "matvec: %s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
