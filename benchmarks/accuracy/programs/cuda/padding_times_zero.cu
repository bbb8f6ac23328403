//: class = "H1"
//: cause = ["read-before-write"]
//: kernel = "masked_dot"
//: launch = 2
//: argument = 1
//: plain = "exit"
//: fault = "The padded columns are multiplied with a mask of zero, but hold what was there before: NaN x 0 is NaN."
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void leave_nan(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = nanf("");
}

__global__ void masked_dot(float *out, const float *x, const float *mask, int padded)
{
    float sum = 0;
    for (int c = 0; c < padded; ++c) sum += x[blockIdx.x * padded + c] * mask[c];
    out[blockIdx.x] = sum;
}

int main()
{
    const int rows = 512, cols = 100, padded = 128;
    float *old, *x, *mask, *out;
    cudaMalloc(&old, rows * padded * sizeof(float));
    leave_nan<<<rows * padded / 256, 256>>>(old, rows * padded);
    cudaFree(old);
    cudaMalloc(&x, rows * padded * sizeof(float));
#ifdef TWIN
    cudaMemset(x, 0, rows * padded * sizeof(float));
#endif
    std::vector<float> host(rows * cols, 1.0f), m(padded, 0.0f), result(rows);
    for (int c = 0; c < cols; ++c) m[c] = 1.0f;
    cudaMemcpy2D(x, padded * sizeof(float), host.data(), cols * sizeof(float), cols * sizeof(float), rows, cudaMemcpyHostToDevice); // FAULT
    cudaMalloc(&mask, padded * sizeof(float));
    cudaMalloc(&out, rows * sizeof(float));
    cudaMemcpy(mask, m.data(), padded * sizeof(float), cudaMemcpyHostToDevice);
    masked_dot<<<rows, 1>>>(out, x, mask, padded);
    cudaMemcpy(result.data(), out, rows * sizeof(float), cudaMemcpyDeviceToHost);
    printf("row 0: %g\n", result[0]);
    return result[0] == 100.0f && result[rows - 1] == 100.0f ? 0 : 1;
}
