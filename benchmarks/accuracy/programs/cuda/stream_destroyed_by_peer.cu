//: class = "D2"
//: group = "order"
//: cause = ["use-of-released-object", "failed-call", "threads-collide", "crash-in-call"]
//: call = ["cudaMemsetAsync", "cudaLaunchKernel"]
//: plain = "exit"
//: fault = "One thread destroys the stream that another goes on to use."
#include <cstdio>
#include <cuda_runtime.h>
#include <future>

int main()
{
    cudaStream_t stream;
    char *p;
    cudaStreamCreate(&stream);
    cudaMalloc(&p, 4096);
    std::promise<void> stopped;
    auto user = std::async(std::launch::async, [&] {
        stopped.get_future().wait();
        cudaError_t e = cudaMemsetAsync(p, 1, 4096, stream); // FAULT
        if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
        return e;
    });
#ifndef TWIN
    cudaStreamDestroy(stream);
#endif
    stopped.set_value();
    cudaError_t e = user.get();
#ifdef TWIN
    cudaStreamDestroy(stream);
#endif
    printf("%s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
