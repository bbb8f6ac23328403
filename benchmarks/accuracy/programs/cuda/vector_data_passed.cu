//: class = "A4"
//: cause = ["host-pointer-on-device"]
//: kernel = "saxpy"
//: launch = 1
//: argument = 2
//: plain = "exit"
//: fault = "The kernel gets the host vector instead of its copy on the device."
#include <cuda_runtime.h>
#include <iostream>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main()
{
    const int n = 5000;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *dx = nullptr, *dy = nullptr;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dy, n * sizeof(float));
    cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
#ifdef TWIN
    saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, dx, dy);
#else
    saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, x.data(), dy); // FAULT
#endif
    cudaError_t e = cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        std::cerr << cudaGetErrorString(e) << std::endl;
        return 1;
    }
    std::cout << y[0] << " " << y[n - 1] << std::endl;
    return y[n - 1] == 5.0f ? 0 : 1;
}
