/* Graphs and capture. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "fake.h"

API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture_v2);
    (void)mode;
    struct stream *s = stream_of(stream);
    NEED(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    s->capture = calloc(1, sizeof *s->capture);
    s->capture->magic = GRAPH;
    return CUDA_SUCCESS;
}

API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    ENTER(cuStreamEndCapture);
    struct stream *s = stream_of(stream);
    NEED(s && s->capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    int lost = s->capture->lost;
    for (int i = 0; i < s->capture->joined; i++)
        s->capture->streams[i]->capture = NULL;
    *graph = lost ? NULL : (CUgraph)s->capture;
    s->capture = NULL;
    return lost ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

API CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    ENTER(cuGraphCreate);
    (void)flags;
    struct graph *made = calloc(1, sizeof *made);
    made->magic = GRAPH;
    *graph = (CUgraph)made;
    return CUDA_SUCCESS;
}

API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS *params)
{
    ENTER(cuGraphAddKernelNode_v2);
    (void)after, (void)count;
    struct graph *g = (struct graph *)graph;
    struct function *f = (struct function *)(params->func ? params->func : (CUfunction)params->kern);
    char block[32768] = { 0 };
    gather(f, params->params, params->extra, block);
    g->nodes[g->count] = make_node(f, *params, block);
    *node = (CUgraphNode)g->nodes[g->count++];
    return CUDA_SUCCESS;
}

API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct graph *g = (struct graph *)graph;
    for (int i = 0; nodes && i < g->count; i++)
        nodes[i] = (CUgraphNode)g->nodes[i];
    *count = (size_t)g->count;
    return CUDA_SUCCESS;
}

API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    (void)node;
    *type = CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
}

API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    *params = ((struct node *)node)->params;
    return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    ENTER(cuGraphInstantiateWithFlags);
    (void)flags;
    struct graph *made = malloc(sizeof *made);
    memcpy(made, graph, sizeof *made);
    made->magic = EXEC;
    *exec = (CUgraphExec)made;
    return CUDA_SUCCESS;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    ENTER(cuGraphExecKernelNodeSetParams_v2);
    struct graph *g = (struct graph *)exec;
    struct function *f = (struct function *)params->func;
    char block[32768] = { 0 };
    gather(f, params->params, params->extra, block);
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->stands_for == (struct node *)node) {
            g->nodes[i] = make_node(f, *params, block);
            g->nodes[i]->stands_for = (struct node *)node;
        }
    return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER(cuGraphLaunch);
    (void)stream;
    struct graph *g = (struct graph *)exec;
    for (int i = 0; i < g->count; i++)
        execute((struct function *)g->nodes[i]->params.func, g->nodes[i]->values);
    return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    ENTER(cuGraphExecDestroy);
    free(exec);
    return CUDA_SUCCESS;
}

API CUresult cuGraphDestroy(CUgraph graph)
{
    ENTER(cuGraphDestroy);
    free(graph);
    return CUDA_SUCCESS;
}
