#include <hip/hip_runtime.h>

__global__ void multiply_batch(const float *a, const float *b, float *c, int rows, int columns, int inner)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.z * rows + blockIdx.y;
    if (column >= columns)
        return;
    float sum = 0;
    for (int i = 0; i < inner; i++)
        sum += a[row * inner + i] * b[i * columns + column];
    c[row * columns + column] = sum;
}

void launch_multiply_batch(const float *a, const float *b, float *c, int count, int rows, int columns, int inner)
{
    hipLaunchKernelGGL(multiply_batch, dim3((columns + 127) / 128, rows, count), dim3(128), 0, 0, a, b, c, rows, columns, inner);
}
