#include <hip/hip_runtime.h>

#include "rows.h"

__global__ void scale_rows(Rows rows, float *out)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < rows.width && row < rows.count)
        out[row * rows.width + column] = rows.values[row * rows.width + column] * rows.scale[row];
}

void launch_scale_rows(Rows rows, float *out)
{
    hipLaunchKernelGGL(scale_rows, dim3((rows.width + 63) / 64, rows.count), dim3(64), 0, 0, rows, out);
}
