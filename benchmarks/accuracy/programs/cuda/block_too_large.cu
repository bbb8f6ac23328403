//: class = "E1"
//: cause = ["launch-refused", "ignored-error"]
//: kernel = "softmax_row"
//: launch = 1
//: plain = "silent"
//: fault = "The block has one thread per class: 1500 classes are more than 1024 threads. Nothing checks the launch."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void softmax_row(float *x, int classes)
{
    for (int c = threadIdx.x; c < classes; c += blockDim.x) x[blockIdx.x * classes + c] = 1.0f / classes;
}

int main()
{
    const int batch = 32, classes = 1500;
    std::vector<float> host(batch * classes, 0.0f);
    float *x;
    cudaMalloc(&x, host.size() * sizeof(float));
    cudaMemcpy(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
#ifdef TWIN
    int threads = classes < 1024 ? classes : 1024;
#else
    int threads = classes; // FAULT
#endif
    softmax_row<<<batch, threads>>>(x, classes);
    cudaMemcpy(host.data(), x, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
    float sum = 0;
    for (int c = 0; c < classes; ++c) sum += host[c];
    printf("probabilities sum to %.3f\n", sum);
    return 0;
}
