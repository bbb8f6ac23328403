/* A graph with two kernels and a fill, made as the first argument says, launched, changed as the second says, and launched
 * again after its first memory was freed. Ends with the error of the last wait. */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

void launch_store(int *x, int from, int count, hipStream_t stream);
const void *address_of_store();
enum { COUNT = 64, BYTES = COUNT * 4 };

static hipKernelNodeParams node_of(int **x, int *from, int *count)
{
    static void *params[3];
    hipKernelNodeParams node = {};
    params[0] = x, params[1] = from, params[2] = count;
    node.func = (void *)address_of_store();
    node.gridDim = dim3(8);
    node.blockDim = dim3(64);
    node.kernelParams = params;
    return node;
}

static hipGraph_t captured(int *x, int *y, hipStream_t stream)
{
    hipGraph_t graph;
    hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    launch_store(x, 0, COUNT, stream);
    hipMemsetAsync(y, 0, BYTES, stream);
    launch_store(y, 0, COUNT, stream);
    hipStreamEndCapture(stream, &graph);
    return graph;
}

static hipGraph_t added(int *x, int *y)
{
    hipGraph_t graph, child;
    hipGraphNode_t node;
    int from = 0, count = COUNT;
    hipGraphCreate(&graph, 0);
    hipGraphCreate(&child, 0);
    hipKernelNodeParams first = node_of(&x, &from, &count);
    hipGraphAddKernelNode(&node, graph, nullptr, 0, &first);
    hipKernelNodeParams second = node_of(&y, &from, &count);
    hipGraphAddKernelNode(&node, child, nullptr, 0, &second);
    hipGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    hipGraphAddEmptyNode(&node, graph, nullptr, 0);
    return graph;
}

static void change(const char *how, hipGraphExec_t exec, hipGraph_t graph, int *other, int *y, hipStream_t stream)
{
    hipGraphNode_t nodes[8];
    size_t count = 8;
    int from = 0, all = COUNT;
    hipGraphExecUpdateResult why;
    if (!strcmp(how, "node")) {
        hipKernelNodeParams node = node_of(&other, &from, &all);
        hipGraphGetNodes(graph, nodes, &count);
        hipGraphExecKernelNodeSetParams(exec, nodes[0], &node);
    }
    if (!strcmp(how, "update"))
        hipGraphExecUpdate(exec, captured(other, y, stream), nodes, &why);
}

int main(int, char **words)
{
    int *x, *y, *other;
    hipStream_t stream;
    hipGraphExec_t exec;
    hipStreamCreate(&stream);
    hipMalloc((void **)&x, BYTES);
    hipMalloc((void **)&y, BYTES);
    hipMalloc((void **)&other, BYTES);
    hipGraph_t graph = !strcmp(words[1], "captured") ? captured(x, y, stream) : added(x, y);
    printf("made %d last %d\n", hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipPeekAtLastError());
    hipGraphLaunch(exec, stream);
    printf("waited %d\n", hipStreamSynchronize(stream));
    change(words[2], exec, graph, other, y, stream);
    if (strcmp(words[2], "keep"))
        hipFree(x);
    hipGraphLaunch(exec, stream);
    return hipStreamSynchronize(stream);
}
