//: class = "B3"
//: cause = ["graph-holds-dead-pointer", "use-after-free"]
//: kernel = "decode"
//: argument = 0
//: plain = "exit"
//: fault = "The graph was captured with an input buffer that is freed and allocated anew before the next replay."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define OK(x)                                                                          \
    if (cudaError_t e_ = (x); e_ != cudaSuccess) {                                     \
        fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));                       \
        exit(1);                                                                       \
    }

__global__ void decode(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 3;
}

int main()
{
    int n = 2 << 20;
    int *in, *out;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMalloc(&out, n * sizeof(int)));
    OK(cudaMemset(in, 0, n * sizeof(int)));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    decode<<<(n + 255) / 256, 256, 0, stream>>>(in, out, n);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
#ifndef TWIN
    OK(cudaFree(in)); // FAULT
    OK(cudaMalloc(&in, 4 * n * sizeof(int)));
    OK(cudaMemset(in, 0, 4 * n * sizeof(int)));
#endif
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    puts("two replays");
    OK(cudaGraphExecDestroy(exec));
    return 0;
}
