//: class = "A2"
//: cause = ["copy-range", "failed-call"]
//: call = "cudaMemcpy"
//: plain = "exit"
//: fault = "The copy takes the padded row count, the buffer was allocated with the real one."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

int main()
{
    const int rows = 1000, padded_rows = 65536, cols = 256;
    std::vector<float> host((size_t)padded_rows * cols);
    float *device;
    if (cudaMalloc(&device, sizeof(float) * rows * cols) != cudaSuccess) return 2;
#ifdef TWIN
    size_t bytes = sizeof(float) * rows * cols;
#else
    size_t bytes = host.size() * sizeof(float);
#endif
    cudaError_t e = cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice); // FAULT
    if (e != cudaSuccess) {
        fprintf(stderr, "upload: %s\n", cudaGetErrorString(e));
        return 1;
    }
    puts("uploaded");
    cudaFree(device);
    return 0;
}
