/* Graphs: what an instantiated graph will do is noted when it is made or updated, because a launch of it names nothing.
 *
 * The nodes are read from the graph while the program still waits for its own call to return, so nobody else may be
 * changing it. Values of kernel parameters belong to the node (driver API reference, cuGraphKernelNodeGetParams). */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "cuda/hooks.h"

enum { NODES_MAX = 4096, NESTING_MAX = 4 };

struct walk { uint64_t exec; uint64_t nodes, described; };

static void describe_graph(struct walk *walk, CUgraph graph, int depth);

/* ---- kernels ---- */

static CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS *params)
{
    return params->func ? params->func : (CUfunction)params->kern;
}

static void put_node(struct gdx_open *open, uint64_t exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    const uint64_t words[GDX_WORDS] = { exec, GDX_CU_WORD(node), GDX_CU_WORD(function_of(params)),
                                        params->grid_x, params->grid_y, params->grid_z,
                                        params->block_x, params->block_y, params->block_z };
    for (unsigned i = 0; i < GDX_WORDS; i++)
        open->slot->w[i] = words[i];
    uint64_t *shared = gdx_part(open, GDX_PART_numbers, sizeof *shared);
    if (shared)
        *shared = params->shared_bytes;
}

/* Drivers before CUDA 12 know the shorter structure only, which the longer one begins with. */
static bool kernel_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    if (gdx_cu_next.cuGraphKernelNodeGetParams_v2)
        return gdx_cu_next.cuGraphKernelNodeGetParams_v2(node, params) == CUDA_SUCCESS;
    return gdx_cu_next.cuGraphKernelNodeGetParams
        && gdx_cu_next.cuGraphKernelNodeGetParams(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)params) == CUDA_SUCCESS;
}

static bool note_kernel(uint64_t exec, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params = { 0 };
    struct gdx_open open;
    if (!kernel_params(node, &params))
        return false;
    gdx_cu_met_by_launch(function_of(&params));  /* the driver holds it in a node, so it is a good one */
    const struct gdx_layout *layout = gdx_cu_layout_of(function_of(&params));
    if (!gdx_begin(&open, GDX_CALL_note_graph_kernel, NULL))
        return false;
    put_node(&open, exec, node, &params);
    gdx_put_arguments(&open, layout, params.params, params.extra);
    gdx_commit(&open);
    gdx_end_quiet(&open, 0);
    return true;
}

/* ---- copies, fills, memory ---- */

static void note(uint32_t number, const uint64_t *words, unsigned count)
{
    gdx_note(number, words, count, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

static bool note_copy(uint64_t exec, CUgraphNode node)
{
    CUDA_MEMCPY3D copy;
    if (!gdx_cu_next.cuGraphMemcpyNodeGetParams || gdx_cu_next.cuGraphMemcpyNodeGetParams(node, &copy) != CUDA_SUCCESS)
        return false;
    struct gdx_cu_box box = gdx_cu_box3(&copy);
    const uint64_t words[] = { exec, GDX_CU_WORD(node), box.src, box.dst, box.src_pitch, box.dst_pitch, box.width,
                               box.height, box.depth };
    gdx_note(GDX_CALL_note_graph_copy, words, 9, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, &box.kinds, 1);
    return true;
}

static bool note_fill(uint64_t exec, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS fill;
    if (!gdx_cu_next.cuGraphMemsetNodeGetParams || gdx_cu_next.cuGraphMemsetNodeGetParams(node, &fill) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { exec, GDX_CU_WORD(node), fill.dst, fill.pitch, fill.value, fill.element, fill.width,
                               fill.height };
    note(GDX_CALL_note_graph_fill, words, 8);
    return true;
}

static bool note_alloc(uint64_t exec, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    if (!gdx_cu_next.cuGraphMemAllocNodeGetParams
        || gdx_cu_next.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { exec, GDX_CU_WORD(node), params.address, params.size, 0 };
    note(GDX_CALL_note_graph_memory, words, 5);
    return true;
}

static bool note_free(uint64_t exec, CUgraphNode node)
{
    CUdeviceptr address = 0;
    if (!gdx_cu_next.cuGraphMemFreeNodeGetParams
        || gdx_cu_next.cuGraphMemFreeNodeGetParams(node, &address) != CUDA_SUCCESS)
        return false;
    const uint64_t words[] = { exec, GDX_CU_WORD(node), address, 0, 1 };
    note(GDX_CALL_note_graph_memory, words, 5);
    return true;
}

/* ---- the walk ---- */

static bool describe_child(struct walk *walk, CUgraphNode node, int depth)
{
    CUgraph child = NULL;
    if (!gdx_cu_next.cuGraphChildGraphNodeGetGraph
        || gdx_cu_next.cuGraphChildGraphNodeGetGraph(node, &child) != CUDA_SUCCESS || !child)
        return false;
    describe_graph(walk, child, depth + 1);
    return true;
}

static bool describe_node(struct walk *walk, CUgraphNode node, int depth)
{
    CUgraphNodeType type = 0;
    if (gdx_cu_next.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return false;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return note_kernel(walk->exec, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return note_copy(walk->exec, node);
    case CU_GRAPH_NODE_TYPE_MEMSET: return note_fill(walk->exec, node);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return note_alloc(walk->exec, node);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return note_free(walk->exec, node);
    case CU_GRAPH_NODE_TYPE_GRAPH: return describe_child(walk, node, depth);
    default: return false;
    }
}

static void describe_graph(struct walk *walk, CUgraph graph, int depth)
{
    size_t count = 0;
    if (depth > NESTING_MAX || gdx_cu_next.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || !count)
        return;
    walk->nodes += count;
    size_t bytes = count * sizeof(CUgraphNode);
    CUgraphNode *nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nodes == MAP_FAILED)
        return;
    if (gdx_cu_next.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
        for (size_t i = 0; i < count && walk->described < NODES_MAX; i++)
            walk->described += describe_node(walk, nodes[i], depth);
    munmap(nodes, bytes);
}

static void graph_ready(CUresult status, CUgraphExec exec, CUgraph graph)
{
    struct walk walk = { .exec = GDX_CU_WORD(exec) };
    if (status != CUDA_SUCCESS || !exec || !graph || !gdx_on())
        return;
    if (gdx_cu_next.cuGraphGetNodes && gdx_cu_next.cuGraphNodeGetType)
        describe_graph(&walk, graph, 0);
    const uint64_t words[] = { walk.exec, GDX_CU_WORD(graph), walk.nodes, walk.described };
    note(GDX_CALL_note_graph, words, 4);
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

/* ---- nodes of an instantiated graph that are changed one by one ---- */

/* What the program hands over for a kernel node, as far as it can be read; the shorter structure has no `kern`. */
static bool read_params(struct gdx_lane *lane, const void *given, size_t bytes, CUDA_KERNEL_NODE_PARAMS *params)
{
    if (!given || !gdx_readable(lane, given, bytes))
        return false;
    *params = (CUDA_KERNEL_NODE_PARAMS){ 0 };
    __builtin_memcpy(params, given, bytes);
    return true;
}

/* Begins the record of a changed kernel node. `params` is NULL when there is nothing to read. */
static void begin_set(struct gdx_open *open, uint32_t call, void *caller, CUgraphExec exec, CUgraphNode node,
                      const CUDA_KERNEL_NODE_PARAMS *params)
{
    static const CUDA_KERNEL_NODE_PARAMS nothing;
    const struct gdx_layout *layout = params ? gdx_cu_layout_of(function_of(params)) : NULL;
    if (!gdx_cu_begin(open, call, caller))
        return;
    put_node(open, GDX_CU_WORD(exec), node, params ? params : &nothing);
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
    bool good = lane && params && gdx_readable(lane, params, sizeof *params);
    bool kernel = good && params->type == CU_GRAPH_NODE_TYPE_KERNEL;
    begin_set(&open, GDX_CALL_cuGraphExecNodeSetParams, __builtin_return_address(0), graph_exec, node,
              kernel ? &params->kernel : NULL);
    CUresult result = gdx_cu_next.cuGraphExecNodeSetParams(graph_exec, node, params);
    gdx_cu_end(&open, result);
    return result;
}
