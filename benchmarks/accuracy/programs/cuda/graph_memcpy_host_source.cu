//: class = "B3"
//: cause = ["graph-holds-dead-pointer", "use-after-free", "host-memory-changed-under-copy"]
//: call = "cudaGraphLaunch"
//: plain = "sometimes"
//: fault = "A copy node of the graph reads pinned memory that is freed before the second launch."
#include <cstdio>
#include <cuda_runtime.h>

int main()
{
    const size_t bytes = 8 << 20;
    float *staging, *device, back = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaHostAlloc(&staging, bytes, cudaHostAllocDefault);
    cudaMalloc(&device, bytes);
    staging[0] = 11.0f;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
#ifndef TWIN
    cudaFreeHost(staging); // FAULT
#endif
    cudaGraphLaunch(exec, stream);
    cudaError_t e = cudaStreamSynchronize(stream);
    cudaMemcpy(&back, device, sizeof back, cudaMemcpyDeviceToHost);
    printf("%s, first %g\n", cudaGetErrorString(e), back);
    return e == cudaSuccess && back == 11.0f ? 0 : 1;
}
