//: class = "B3"
//: group = "order"
//: cause = ["graph-holds-dead-pointer", "use-after-free", "graph-replay-stale"]
//: kernel = "scatter"
//: call = ["cudaGraphLaunch"]
//: plain = "exit"
//: fault = "A stream-ordered allocation was captured by address and freed; a replay writes into the buffer that got its place."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scatter(int *workspace, int value) { workspace[threadIdx.x] = value; }

int main()
{
    const size_t bytes = 1024 * sizeof(int);
    int *workspace, *weights, first = 0;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cudaMallocAsync(&workspace, bytes, s);
    cudaStreamSynchronize(s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    scatter<<<1, 1024, 0, s>>>(workspace, -7);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
#ifndef TWIN
    cudaFreeAsync(workspace, s); // FAULT
#endif
    cudaMallocAsync(&weights, bytes, s);
    cudaMemsetAsync(weights, 0, bytes, s);
    cudaGraphLaunch(exec, s);
    cudaMemcpyAsync(&first, weights, sizeof first, cudaMemcpyDeviceToHost, s);
    cudaError_t e = cudaStreamSynchronize(s);
    printf("%s, first weight %d\n", cudaGetErrorString(e), first);
    return e != cudaSuccess || first != 0;
}
