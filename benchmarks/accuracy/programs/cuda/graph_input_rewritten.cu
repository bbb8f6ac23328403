//: class = "B3"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "graph-replay-stale"]
//: call = ["cudaGraphLaunch", "cudaMemcpyAsync"]
//: plain = "exit"
//: fault = "The pinned input of a graph is rewritten for the next step while the last replay has not copied it yet."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void warm_up(int *scratch, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    scratch[threadIdx.x] = v;
}

__global__ void apply(const int *token, int *history, int *step) { history[(*step)++] = *token; }

int main()
{
    const int steps = 8;
    int *token_host, *token, *history, *step, *scratch, host[steps], wrong = 0;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cudaMallocHost(&token_host, sizeof(int));
    cudaMalloc(&token, sizeof(int));
    cudaMalloc(&history, sizeof host);
    cudaMalloc(&step, sizeof(int));
    cudaMalloc(&scratch, 32 * sizeof(int));
    cudaMemset(step, 0, sizeof(int));
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    warm_up<<<1, 32, 0, s>>>(scratch, 2000000);
    cudaMemcpyAsync(token, token_host, sizeof(int), cudaMemcpyHostToDevice, s);
    apply<<<1, 1, 0, s>>>(token, history, step);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaDeviceSynchronize();
    for (int i = 0; i < steps; ++i) {
        *token_host = 100 + i; // FAULT
        cudaGraphLaunch(exec, s);
#ifdef TWIN
        cudaStreamSynchronize(s);
#endif
    }
    cudaStreamSynchronize(s);
    cudaMemcpy(host, history, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < steps; ++i) wrong += host[i] != 100 + i;
    printf("%d wrong tokens\n", wrong);
    return wrong ? 1 : 0;
}
