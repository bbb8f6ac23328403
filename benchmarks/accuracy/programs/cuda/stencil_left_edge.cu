//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "diffuse"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "The left neighbour of element 0 is computed in unsigned arithmetic and wraps to 4294967295."
#include <cuda_runtime.h>
#include <iostream>
#include <vector>

__global__ void diffuse(float *next, const float *now, unsigned n, float k)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef TWIN
        unsigned left = i == 0 ? 0 : i - 1;
#else
        unsigned left = i - 1; // FAULT
#endif
        unsigned right = i + 1 < n ? i + 1 : n - 1;
        next[i] = now[i] + k * (now[left] - 2 * now[i] + now[right]);
    }
}

int main()
{
    const unsigned n = 1u << 18;
    std::vector<float> host(n, 0.0f);
    host[n / 2] = 1.0f;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    for (int step = 0; step < 50; ++step) {
        diffuse<<<128, 256>>>(b, a, n, 0.1f);
        std::swap(a, b);
    }
    if (cudaError_t e = cudaMemcpy(host.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost); e != cudaSuccess) {
        std::cerr << "copy of the result failed: " << cudaGetErrorString(e) << "\n";
        return 1;
    }
    double sum = 0;
    for (float v : host) sum += v;
    std::cout << "heat " << sum << "\n";
    return sum > 0.999 && sum < 1.001 ? 0 : 2;
}
