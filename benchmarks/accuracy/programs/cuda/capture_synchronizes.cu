//: class = "B3"
//: group = "order"
//: cause = ["capture-broken"]
//: call = ["cudaStreamSynchronize", "cudaStreamEndCapture", "cudaMemcpy"]
//: plain = "exit"
//: fault = "A debug check waits for the stream while it is being captured."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void relu(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaxf(x[i], 0.0f);
}

static void forward(float *x, int n, cudaStream_t s)
{
    relu<<<(n + 127) / 128, 128, 0, s>>>(x, n);
#ifndef TWIN
    cudaStreamSynchronize(s); // FAULT
#endif
    relu<<<(n + 127) / 128, 128, 0, s>>>(x, n);
}

int main()
{
    const int n = 10000;
    float *x;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    cudaStreamCreate(&s);
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    forward(x, n, s);
    if (cudaStreamEndCapture(s, &graph) != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) {
        fprintf(stderr, "cannot build the graph\n");
        return EXIT_FAILURE;
    }
    cudaGraphLaunch(exec, s);
    return cudaStreamSynchronize(s) == cudaSuccess ? puts("replayed"), 0 : 1;
}
