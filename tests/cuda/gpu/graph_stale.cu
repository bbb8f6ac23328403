/* A graph that still holds a buffer which was freed before the launch. Nothing reports it. */
#include "check.h"

__global__ void fill(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = i;
}

int main()
{
    const int n = 1 << 10;
    int *out;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    MUST(cudaMalloc(&out, n * sizeof *out));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<(n + 255) / 256, 256, 0, stream>>>(out, n);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaFree(out));
    MUST(cudaGraphLaunch(exec, stream));
    return told("after the launch", cudaStreamSynchronize(stream));
}
