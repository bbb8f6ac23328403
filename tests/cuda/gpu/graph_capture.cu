/* A captured graph, launched, changed and launched again. */
#include "check.h"

__global__ void step(int *value, int by)
{
    atomicAdd(value, by);
}

int main()
{
    int *value, result = 0, by = 100;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    size_t count = 1;
    MUST(cudaMalloc(&value, sizeof *value));
    MUST(cudaMemset(value, 0, sizeof *value));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step<<<1, 1, 0, stream>>>(value, 1);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaGraphGetNodes(graph, &node, &count));
    cudaKernelNodeParams params = {};
    void *arguments[] = { &value, &by };
    params.func = (void *)step;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    MUST(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
    std::printf("value = %d\n", result);
    return result == 103 ? 0 : 1;
}
