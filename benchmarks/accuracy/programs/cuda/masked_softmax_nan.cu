//: class = "H2"
//: cause = ["not-a-number"]
//: kernel = "softmax"
//: launch = 1
//: plain = "exit"
//: fault = "A fully masked row has maximum -inf; -inf minus -inf is NaN."
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void softmax(float *rows, int cols)
{
    float *row = rows + blockIdx.x * cols, most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; ++c) most = fmaxf(most, row[c]);
#ifdef TWIN
    if (most == -INFINITY) most = 0;
#endif
    for (int c = 0; c < cols; ++c) sum += expf(row[c] - most); // FAULT
    for (int c = 0; c < cols; ++c) row[c] = sum > 0 ? expf(row[c] - most) / sum : (sum == 0 ? 0.0f : sum);
}

__global__ void total(const float *x, float *out, int n)
{
    float s = 0;
    for (int i = 0; i < n; ++i) s += x[i];
    *out = s;
}

int main()
{
    const int count = 64, cols = 48;
    float host[count * cols], *rows, *out, sum;
    for (int i = 0; i < count * cols; ++i) host[i] = i / cols == 17 ? -INFINITY : (i % 5) * 0.1f;
    cudaMalloc(&rows, sizeof host);
    cudaMalloc(&out, sizeof sum);
    cudaMemcpy(rows, host, sizeof host, cudaMemcpyHostToDevice);
    softmax<<<count, 1>>>(rows, cols);
    total<<<1, 1>>>(rows, out, count * cols);
    cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    printf("attention mass %g\n", sum);
    return std::isfinite(sum) ? 0 : 1;
}
