//: class = "E1"
//: cause = ["launch-refused"]
//: kernel = "row_mean"
//: launch = 1
//: plain = "exit"
//: fault = "One block per row in y: 70000 rows, and the limit is 65535."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void row_mean(const float *x, float *mean, int cols)
{
    float sum = 0;
    for (int c = 0; c < cols; ++c) sum += x[(size_t)blockIdx.y * cols + c];
    if (threadIdx.x == 0) mean[blockIdx.y] = sum / cols;
}

int main()
{
#ifdef TWIN
    const int rows = 65000;
#else
    const int rows = 70000; // FAULT
#endif
    const int cols = 16;
    float *x, *mean, *host = new float[rows];
    cudaMalloc(&x, sizeof(float) * rows * cols);
    cudaMemset(x, 0, sizeof(float) * rows * cols);
    cudaMalloc(&mean, sizeof(float) * rows);
    row_mean<<<dim3(1, rows), 32>>>(x, mean, cols);
    cudaError_t e = cudaGetLastError();
    if (e == cudaSuccess) e = cudaMemcpy(host, mean, sizeof(float) * rows, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        fprintf(stderr, "row_mean: %s\n", cudaGetErrorString(e));
        return 1;
    }
    printf("%g\n", host[rows - 1]);
}
