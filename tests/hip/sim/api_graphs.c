/* Entries about graphs. An instantiated graph is a copy of the graph's nodes, as they were then. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct hipGraphNode {
    struct hipGraphNode *next, *origin;  /* `origin`: of an instantiated one, the node it was made from */
    enum sim_node type;
    sim_work *work;
    void *data;
    size_t bytes;
    hipGraph_t child;
    void *pointers[SIM_ARGUMENTS];
};
struct ihipGraph { struct hipGraphNode *first, **end; };
struct hipGraphExec { struct ihipGraph own; };

static struct hipGraphNode *add(struct ihipGraph *graph, enum sim_node type, sim_work *work, const void *data, size_t bytes)
{
    struct hipGraphNode *node = calloc(1, sizeof *node);
    *node = (struct hipGraphNode){ .type = type, .work = work, .data = calloc(1, bytes + 1), .bytes = bytes };
    if (bytes)
        memcpy(node->data, data, bytes);
    *graph->end = node;
    graph->end = &node->next;
    return node;
}

static void begin(struct ihipGraph *graph)
{
    graph->first = NULL;
    graph->end = &graph->first;
}

hipError_t sim_add_node(hipGraphNode_t *node, hipGraph_t graph, enum sim_node type, sim_work *work, const void *data, size_t bytes)
{
    *node = add(graph, type, work, data, bytes);
    return sim_return(hipSuccess);
}

hipError_t sim_node_data(hipGraphNode_t node, enum sim_node type, void *data, size_t bytes)
{
    if (node->type != type)
        return sim_return(hipErrorInvalidValue);
    memcpy(data, node->data, bytes);
    return sim_return(hipSuccess);
}

/* ---- making ---- */

API hipError_t hipGraphCreate(hipGraph_t *graph, unsigned int flags)
{
    (void)flags;
    begin(*graph = malloc(sizeof **graph));
    return sim_return(hipSuccess);
}

API hipError_t hipGraphDestroy(hipGraph_t graph)
{
    (void)graph;  /* its nodes may still be somebody's origin: this is a simulator */
    return sim_return(hipSuccess);
}

API hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count)
{
    (void)after, (void)count;
    *node = add(graph, SIM_EMPTY, NULL, NULL, 0);
    return sim_return(hipSuccess);
}

static struct sim_launch launch_of(const hipKernelNodeParams *params)
{
    const char *name = sim_name_of(params->func);
    struct sim_launch launch = { .function = params->func, .grid = params->gridDim, .block = params->blockDim,
                                 .device = sim_device };
    if (!name || !sim_prepare(&launch, name, params->kernelParams, params->extra))
        launch.code = NULL;
    return launch;
}

API hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count,
                                     const hipKernelNodeParams *params)
{
    (void)after, (void)count;
    struct sim_launch launch = launch_of(params);
    *node = add(graph, SIM_KERNEL, sim_run, &launch, sizeof launch);
    return sim_return(hipSuccess);
}

API hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count,
                                         hipGraph_t child)
{
    (void)after, (void)count;
    *node = add(graph, SIM_GRAPH, NULL, NULL, 0);
    (*node)->child = child;
    return sim_return(hipSuccess);
}

/* ---- asking ---- */

API hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    size_t found = 0;
    if (!nodes && getenv("GPUDX_HIP_SIM_STRICT"))
        abort();  /* as in an implementation that writes to the list in any case */
    for (struct hipGraphNode *node = graph->first; node; node = node->next, found++)
        if (nodes && found < *count)
            nodes[found] = node;
    *count = found;
    return sim_return(hipSuccess);
}

/* Later versions begin with 0. */
API hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type)
{
    *type = (hipGraphNodeType)(node->type - (SIM_HIP >= 7 || sim_mappings()));
    return sim_return(hipSuccess);
}

API hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *params)
{
    struct sim_launch *launch = node->data;
    if (node->type != SIM_KERNEL)
        return sim_return(hipErrorInvalidValue);
    for (int i = 0; i < launch->count; i++)
        node->pointers[i] = launch->packed + launch->arguments[i].at;
    *params = (hipKernelNodeParams){ .func = (void *)launch->function, .gridDim = launch->grid, .blockDim = launch->block,
                                     .kernelParams = node->pointers };
    return sim_return(hipSuccess);
}

API hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *params)
{
    struct { void *dst; size_t pitch, width, height; int value; } fill;  /* api_memory.c */
    if (node->type != SIM_FILL)
        return sim_return(hipErrorInvalidValue);
    memcpy(&fill, node->data, sizeof fill);
    *params = (hipMemsetParams){ .dst = fill.dst, .elementSize = 1, .height = fill.height, .pitch = fill.pitch,
                                 .value = (unsigned)fill.value, .width = fill.width };
    return sim_return(hipSuccess);
}

API hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t *graph)
{
    *graph = node->child;
    return sim_return(node->child ? hipSuccess : hipErrorInvalidValue);
}

/* ---- instantiated ones ---- */

static void copy_nodes(struct ihipGraph *to, const struct ihipGraph *from)
{
    for (struct hipGraphNode *node = from->first; node; node = node->next)
        if (node->type == SIM_GRAPH)
            copy_nodes(to, node->child);
        else
            add(to, node->type, node->work, node->data, node->bytes)->origin = node;
}

API hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *failed, char *log, size_t room)
{
    (void)failed, (void)log, (void)room;
    begin(&(*exec = malloc(sizeof **exec))->own);
    copy_nodes(&(*exec)->own, graph);
    return sim_return(hipSuccess);
}

API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags)
{
    (void)flags;
    return hipGraphInstantiate(exec, graph, NULL, NULL, 0);
}

API hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *failed, hipGraphExecUpdateResult *why)
{
    *failed = NULL;
    *why = hipGraphExecUpdateSuccess;
    begin(&exec->own);
    copy_nodes(&exec->own, graph);
    return sim_return(hipSuccess);
}

static hipError_t set_kernel(struct hipGraphNode *node, const hipKernelNodeParams *params)
{
    struct sim_launch launch = launch_of(params);
    if (!node || node->type != SIM_KERNEL)
        return sim_return(hipErrorInvalidValue);
    memcpy(node->data, &launch, sizeof launch);
    return sim_return(hipSuccess);
}

API hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams *params)
{
    return set_kernel(node, params);
}

API hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams *params)
{
    struct hipGraphNode *own = exec->own.first;
    while (own && own->origin != node)
        own = own->next;
    return set_kernel(own, params);
}

API hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    if (!sim_is_stream(stream))
        return sim_return(hipErrorInvalidHandle);
    for (struct hipGraphNode *node = exec->own.first; node; node = node->next)
        if (node->work)
            sim_submit(sim_stream(stream, false), node->work, node->data, node->bytes);
    return sim_return(hipSuccess);
}

API hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    free(exec);
    return sim_return(hipSuccess);
}

/* ---- capture ---- */

static _Thread_local hipStream_t captured;
static _Thread_local hipGraph_t into;

bool sim_capture(hipStream_t stream, enum sim_node type, sim_work *work, const void *data, size_t bytes)
{
    if (!captured || stream != captured)
        return false;
    add(into, type, work, data, bytes);
    return true;
}

API hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    (void)mode;
    captured = stream;
    return hipGraphCreate(&into, 0);
}

API hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    *status = stream && stream == captured ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return sim_return(hipSuccess);
}

API hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    if (!captured || stream != captured)
        return sim_return(hipErrorInvalidValue);
    captured = NULL;
    *graph = into;
    return sim_return(hipSuccess);
}
