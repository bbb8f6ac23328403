//: class = "D2"
//: group = "order"
//: cause = ["capture-broken"]
//: call = ["cudaMalloc", "cudaStreamEndCapture"]
//: plain = "exit"
//: fault = "A second thread allocates memory while the first captures in global mode: the capture is lost."
#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>

__global__ void layer(float *x) { x[threadIdx.x] += 1; }

int main()
{
    float *x;
    cudaStream_t s;
    cudaGraph_t graph = nullptr;
    std::atomic<int> phase{0};
    cudaStreamCreate(&s);
    cudaMalloc(&x, 256 * sizeof(float));
    cudaMemset(x, 0, 256 * sizeof(float));
    cudaDeviceSynchronize();

    std::thread loader([&] {
        void *buffer = nullptr;
        while (phase.load() != 1) std::this_thread::yield();
#ifndef TWIN
        cudaMalloc(&buffer, 32 << 20); // FAULT
#endif
        phase = 2;
#ifdef TWIN
        while (phase.load() != 3) std::this_thread::yield();
        cudaMalloc(&buffer, 32 << 20);
#endif
    });

    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    layer<<<1, 256, 0, s>>>(x);
    phase = 1;
    while (phase.load() != 2) std::this_thread::yield();
    layer<<<1, 256, 0, s>>>(x);
    cudaError_t e = cudaStreamEndCapture(s, &graph);
    phase = 3;
    loader.join();
    if (e != cudaSuccess) {
        fprintf(stderr, "capture: %s\n", cudaGetErrorString(e));
        return 1;
    }
    puts("captured");
    return 0;
}
