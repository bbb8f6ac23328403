//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "transpose"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The transposed matrix has as many columns as the source has rows, but is written with the source's stride."
#include <cstdio>
#include <cuda_runtime.h>

template <typename T> struct Matrix {
    T *data;
    int rows, cols;
};

template <typename T> __global__ void transpose(Matrix<T> out, Matrix<T> in)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= in.rows || c >= in.cols) return;
#ifdef TWIN
    out.data[c * out.cols + r] = in.data[r * in.cols + c];
#else
    out.data[c * in.cols + r] = in.data[r * in.cols + c]; // FAULT
#endif
}

int main()
{
    Matrix<double> in{nullptr, 600, 4096}, out{nullptr, 4096, 600};
    size_t bytes = sizeof(double) * in.rows * in.cols;
    cudaMalloc(&in.data, bytes);
    cudaMalloc(&out.data, bytes);
    cudaMemset(in.data, 0, bytes);
    dim3 block(32, 8), grid((in.cols + 31) / 32, (in.rows + 7) / 8);
    transpose<<<grid, block>>>(out, in);
    cudaError_t status = cudaDeviceSynchronize();
    printf("transpose: %s\n", cudaGetErrorString(status));
    return status != cudaSuccess;
}
