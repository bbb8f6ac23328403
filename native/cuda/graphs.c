/* Graphs: what is in their nodes (driver/graphs.h says when they are read). Values of kernel parameters belong to the node
 * (driver API reference, cuGraphKernelNodeGetParams). */
#define _GNU_SOURCE
#include "cuda/hooks.h"
#include "driver/graphs.h"

/* ---- kernels ---- */

static CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS *params)
{
    return params->func ? params->func : (CUfunction)params->kern;
}

static struct gdx_graph_kernel kernel_of(const CUDA_KERNEL_NODE_PARAMS *p)
{
    return (struct gdx_graph_kernel){
        function_of(p), { p->grid_x, p->grid_y, p->grid_z, p->block_x, p->block_y, p->block_z, p->shared_bytes }, p->params,
        p->extra,
    };
}

/* Drivers before CUDA 12 know the shorter structure only, which the longer one begins with. */
static bool kernel_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    if (gdx_cu_next.cuGraphKernelNodeGetParams_v2)
        return gdx_cu_next.cuGraphKernelNodeGetParams_v2(node, params) == CUDA_SUCCESS;
    return gdx_cu_next.cuGraphKernelNodeGetParams
        && gdx_cu_next.cuGraphKernelNodeGetParams(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)params) == CUDA_SUCCESS;
}

static bool note_kernel(const struct gdx_graph_walk *walk, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params = { 0 };
    if (!kernel_params(node, &params))
        return false;
    gdx_cu_met_by_launch(function_of(&params));  /* the driver holds it in a node, so it is a good one */
    struct gdx_graph_kernel kernel = kernel_of(&params);
    return gdx_note_graph_kernel(walk, node, &kernel, gdx_cu_layout_of(function_of(&params)));
}

/* ---- copies, fills, memory ---- */

static bool note_copy(const struct gdx_graph_walk *walk, CUgraphNode node)
{
    CUDA_MEMCPY3D copy;
    if (!gdx_cu_next.cuGraphMemcpyNodeGetParams || gdx_cu_next.cuGraphMemcpyNodeGetParams(node, &copy) != CUDA_SUCCESS)
        return false;
    struct gdx_cu_box box = gdx_cu_box3(&copy);
    const uint64_t words[] = { box.src, box.dst, box.src_pitch, box.dst_pitch, box.width, box.height, box.depth, box.kinds };
    return gdx_note_graph_node(GDX_CALL_note_graph_copy, walk, node, words, 8);
}

static bool note_fill(const struct gdx_graph_walk *walk, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS fill;
    if (!gdx_cu_next.cuGraphMemsetNodeGetParams || gdx_cu_next.cuGraphMemsetNodeGetParams(node, &fill) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { fill.dst, fill.pitch, fill.value, fill.element, fill.width, fill.height };
    return gdx_note_graph_node(GDX_CALL_note_graph_fill, walk, node, words, 6);
}

static bool note_alloc(const struct gdx_graph_walk *walk, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    if (!gdx_cu_next.cuGraphMemAllocNodeGetParams
        || gdx_cu_next.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { params.address, params.size, 0 };
    return gdx_note_graph_node(GDX_CALL_note_graph_memory, walk, node, words, 3);
}

static bool note_free(const struct gdx_graph_walk *walk, CUgraphNode node)
{
    CUdeviceptr address = 0;
    if (!gdx_cu_next.cuGraphMemFreeNodeGetParams
        || gdx_cu_next.cuGraphMemFreeNodeGetParams(node, &address) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { address, 0, 1 };
    return gdx_note_graph_node(GDX_CALL_note_graph_memory, walk, node, words, 3);
}

/* ---- the walk ---- */

static bool describe_child(struct gdx_graph_walk *walk, CUgraphNode node, int depth)
{
    CUgraph child = NULL;
    if (!gdx_cu_next.cuGraphChildGraphNodeGetGraph
        || gdx_cu_next.cuGraphChildGraphNodeGetGraph(node, &child) != CUDA_SUCCESS || !child)
        return false;
    gdx_graph_describe(walk, child, depth + 1);
    return true;
}

static bool describe_node(struct gdx_graph_walk *walk, void *node, int depth)
{
    CUgraphNodeType type = 0;
    if (!gdx_cu_next.cuGraphNodeGetType || gdx_cu_next.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return false;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return note_kernel(walk, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return note_copy(walk, node);
    case CU_GRAPH_NODE_TYPE_MEMSET: return note_fill(walk, node);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return note_alloc(walk, node);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return note_free(walk, node);
    case CU_GRAPH_NODE_TYPE_GRAPH: return describe_child(walk, node, depth);
    default: return false;
    }
}

static bool nodes_of(void *graph, void **nodes, size_t *count)
{
    return gdx_cu_next.cuGraphGetNodes && gdx_cu_next.cuGraphGetNodes(graph, (CUgraphNode *)nodes, count) == CUDA_SUCCESS;
}

static void graph_ready(CUresult status, CUgraphExec exec, CUgraph graph)
{
    static const struct gdx_graph_api api = { nodes_of, describe_node };
    if (status == CUDA_SUCCESS)
        gdx_graph_ready(&api, exec, graph);
}

void gdx_cu_after_cuGraphInstantiateWithFlags(CUresult status, CUgraphExec *result, CUgraph graph,
                                              unsigned long long flags)
{
    (void)flags;
    graph_ready(status, status == CUDA_SUCCESS && result ? *result : NULL, graph);
}

void gdx_cu_after_cuGraphInstantiateWithParams(CUresult status, CUgraphExec *result, CUgraph graph,
                                               CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    (void)params;
    graph_ready(status, status == CUDA_SUCCESS && result ? *result : NULL, graph);
}

void gdx_cu_after_cuGraphInstantiate_v2(CUresult status, CUgraphExec *result, CUgraph graph, CUgraphNode *failed,
                                        char *log, size_t room)
{
    (void)failed, (void)log, (void)room;
    graph_ready(status, status == CUDA_SUCCESS && result ? *result : NULL, graph);
}

void gdx_cu_after_cuGraphExecUpdate(CUresult status, CUgraphExec graph_exec, CUgraph graph, CUgraphNode *failed,
                                    CUgraphExecUpdateResult *why)
{
    (void)failed, (void)why;
    graph_ready(status, graph_exec, graph);
}

void gdx_cu_after_cuGraphExecUpdate_v2(CUresult status, CUgraphExec graph_exec, CUgraph graph,
                                       CUgraphExecUpdateResultInfo *why)
{
    (void)why;
    graph_ready(status, graph_exec, graph);
}

/* Nodes of a child have handles of their own, which this does not name. */
void gdx_cu_after_cuGraphExecChildGraphNodeSetParams(CUresult status, CUgraphExec graph_exec, CUgraphNode node,
                                                     CUgraph child)
{
    (void)node, (void)child;
    if (status == CUDA_SUCCESS)
        gdx_graph_unknown(graph_exec);
}

/* ---- nodes of an instantiated graph that are changed one by one ---- */

/* What the program hands over for a kernel node, as far as it can be read; the shorter structure has no `kern`. */
static bool read_params(struct gdx_lane *lane, const void *given, size_t bytes, CUDA_KERNEL_NODE_PARAMS *params)
{
    *params = (CUDA_KERNEL_NODE_PARAMS){ 0 };
    return given && gdx_read(&lane->reader, params, given, bytes);
}

/* Begins the record of a changed kernel node. `params` is NULL when there is nothing to read. */
static void begin_set(struct gdx_open *open, uint32_t call, void *caller, CUgraphExec exec, CUgraphNode node,
                      const CUDA_KERNEL_NODE_PARAMS *params)
{
    static const CUDA_KERNEL_NODE_PARAMS nothing;
    const struct gdx_layout *layout = params ? gdx_cu_layout_of(function_of(params)) : NULL;
    if (!gdx_cu_begin(open, call, caller))
        return;
    struct gdx_graph_kernel kernel = kernel_of(params ? params : &nothing);
    gdx_put_graph_kernel(open, exec, node, &kernel);
    if (params)
        gdx_put_arguments(open, layout, params->params, params->extra);
    gdx_commit(open);
}

CUresult rec_cuGraphExecKernelNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    struct gdx_open open;
    CUDA_KERNEL_NODE_PARAMS copy;
    struct gdx_lane *lane = gdx_lane();
    bool good = lane && read_params(lane, params, sizeof *params, &copy);
    begin_set(&open, GDX_CALL_cuGraphExecKernelNodeSetParams, __builtin_return_address(0), graph_exec, node,
              good ? &copy : NULL);
    CUresult result = gdx_cu_next.cuGraphExecKernelNodeSetParams(graph_exec, node, params);
    gdx_cu_end(&open, result);
    return result;
}

CUresult rec_cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph_exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct gdx_open open;
    CUDA_KERNEL_NODE_PARAMS copy;
    struct gdx_lane *lane = gdx_lane();
    bool good = lane && read_params(lane, params, sizeof *params, &copy);
    begin_set(&open, GDX_CALL_cuGraphExecKernelNodeSetParams_v2, __builtin_return_address(0), graph_exec, node,
              good ? &copy : NULL);
    CUresult result = gdx_cu_next.cuGraphExecKernelNodeSetParams_v2(graph_exec, node, params);
    gdx_cu_end(&open, result);
    return result;
}

/* Nodes other than kernels are recorded without their parameters. */
CUresult rec_cuGraphExecNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, CUgraphNodeParams *params)
{
    struct gdx_open open;
    struct gdx_lane *lane = gdx_lane();
    CUgraphNodeParams copy;
    bool good = lane && params && gdx_read(&lane->reader, &copy, params, sizeof copy);
    bool kernel = good && copy.type == CU_GRAPH_NODE_TYPE_KERNEL;
    begin_set(&open, GDX_CALL_cuGraphExecNodeSetParams, __builtin_return_address(0), graph_exec, node,
              kernel ? &copy.kernel : NULL);
    CUresult result = gdx_cu_next.cuGraphExecNodeSetParams(graph_exec, node, params);
    gdx_cu_end(&open, result);
    return result;
}
