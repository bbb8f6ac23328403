//: class = "A3"
//: cause = ["index-overflow"]
//: kernel = "mark_row"
//: launch = 2
//: argument = [0, 1, 2]
//: plain = "exit"
//: fault = "row * cols is computed in int: 60000 x 50000 passes 2^31."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void mark_row(unsigned char *matrix, int row, int cols, unsigned char value)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
#ifdef TWIN
    matrix[(long long)row * cols + c] = value;
#else
    matrix[row * cols + c] = value; // FAULT
#endif
}

int main()
{
    const int rows = 60000, cols = 50000;
    unsigned char *matrix, corner = 0;
    if (cudaMalloc(&matrix, (size_t)rows * cols) != cudaSuccess) {
        fprintf(stderr, "not enough memory\n");
        return 77;
    }
    for (int row = 20000; row < rows; row += 39999) mark_row<<<(cols + 255) / 256, 256>>>(matrix, row, cols, 9);
    cudaError_t e = cudaMemcpy(&corner, matrix + (size_t)(rows - 1) * cols, 1, cudaMemcpyDeviceToHost);
    printf("corner %d, %s\n", corner, cudaGetErrorString(e));
    return e != cudaSuccess || corner != 9;
}
