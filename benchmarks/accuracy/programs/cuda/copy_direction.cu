//: class = "A4"
//: cause = ["copy-direction", "failed-call", "ignored-error"]
//: call = "cudaMemcpy"
//: plain = "silent"
//: fault = "The result is copied with the direction of an upload; the call fails and nobody looks."
#include <cuda_runtime.h>
#include <iomanip>
#include <iostream>

__global__ void square(const float *x, float *y, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = x[i] * x[i];
}

int main()
{
    constexpr int n = 100;
    float x[n], y[n] = {};
    for (int i = 0; i < n; ++i) x[i] = i * 0.1f;
    float *dx, *dy;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    square<<<1, 128>>>(dx, dy, n);
#ifdef TWIN
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
#else
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyHostToDevice); // FAULT
#endif
    std::cout << std::setprecision(4) << "y[50] = " << y[50] << "\n";
    cudaFree(dx);
    cudaFree(dy);
    return 0;
}
