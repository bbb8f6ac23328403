/* Graphs: what is in their nodes (driver/graphs.h says when they are read).
 *
 * Kernels and fills are described; of copies only that they are there: the runtime has nodes of several kinds for them, and
 * hipGraphMemcpyNodeGetParams tells of one kind only. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "driver/graphs.h"
#include "hip/hooks.h"

/* ---- what a node is ---- */

/* hip_runtime_api.h, hipGraphNodeType: kernels are 0, fills 2, graphs 4, empty nodes 5, memory that is made 10 and freed 11; with
 * HIP 5.2 and before, all one more. */
enum { KERNEL, FILL = 2, GRAPH = 4, EMPTY = 5, ALLOCATION = 10, FREE = 11, NOT_KNOWN = -1, NOT_ASKED = -2 };

/* Which of the two it is is found out with an empty node of ours, once. */
static int first_type(void)
{
    static _Atomic int known = NOT_ASKED;
    hipGraph_t graph = NULL;
    hipGraphNode_t node = NULL;
    hipGraphNodeType type = 0;
    if (atomic_load(&known) != NOT_ASKED)
        return atomic_load(&known);
    bool asked = gdx_hip_next.hipGraphCreate && gdx_hip_next.hipGraphAddEmptyNode && gdx_hip_next.hipGraphNodeGetType
        && gdx_hip_next.hipGraphDestroy && gdx_hip_next.hipGraphCreate(&graph, 0) == hipSuccess
        && gdx_hip_next.hipGraphAddEmptyNode(&node, graph, NULL, 0) == hipSuccess
        && gdx_hip_next.hipGraphNodeGetType(node, &type) == hipSuccess;
    if (graph)
        gdx_hip_next.hipGraphDestroy(graph);
    atomic_store(&known, asked && (type == EMPTY || type == EMPTY + 1) ? (int)type - EMPTY : NOT_KNOWN);
    return atomic_load(&known);
}

static int type_of(hipGraphNode_t node)
{
    hipGraphNodeType type = 0;
    int first = first_type();
    return first >= 0 && gdx_hip_next.hipGraphNodeGetType(node, &type) == hipSuccess ? (int)type - first : NOT_KNOWN;
}

/* ---- nodes ---- */

static struct gdx_graph_kernel kernel_of(const hipKernelNodeParams *p)
{
    return (struct gdx_graph_kernel){
        p->func, { p->grid.x, p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z, p->shared_bytes }, p->params, p->extra,
    };
}

static bool note_kernel(const struct gdx_graph_walk *walk, hipGraphNode_t node)
{
    hipKernelNodeParams params = { 0 };
    if (!gdx_hip_next.hipGraphKernelNodeGetParams
        || gdx_hip_next.hipGraphKernelNodeGetParams(node, &params) != hipSuccess)
        return false;
    struct gdx_graph_kernel kernel = kernel_of(&params);
    return gdx_note_graph_kernel(walk, node, &kernel, gdx_hip_layout_of(params.func));
}

static bool note_fill(const struct gdx_graph_walk *walk, hipGraphNode_t node)
{
    hipMemsetParams fill = { 0 };
    if (!gdx_hip_next.hipGraphMemsetNodeGetParams || gdx_hip_next.hipGraphMemsetNodeGetParams(node, &fill) != hipSuccess)
        return false;
    const uint64_t words[] = { GDX_HIP_WORD(fill.dst), fill.pitch, fill.value, fill.element, fill.width, fill.height };
    return gdx_note_graph_node(GDX_CALL_note_graph_fill, walk, node, words, 6);
}

/* driver_types.h, hipMemAllocNodeParams: the size and the address are its last members. */
struct allocation { char properties[104]; size_t bytes; void *address; };
_Static_assert(sizeof(struct allocation) == sizeof(hipMemAllocNodeParams), "hipMemAllocNodeParams");

static bool note_allocation(const struct gdx_graph_walk *walk, hipGraphNode_t node)
{
    struct allocation made = { .bytes = 0 };
    if (!gdx_hip_next.hipGraphMemAllocNodeGetParams
        || gdx_hip_next.hipGraphMemAllocNodeGetParams(node, (hipMemAllocNodeParams *)&made) != hipSuccess)
        return false;
    const uint64_t words[] = { GDX_HIP_WORD(made.address), made.bytes, 0 };
    return gdx_note_graph_node(GDX_CALL_note_graph_memory, walk, node, words, 3);
}

static bool note_free(const struct gdx_graph_walk *walk, hipGraphNode_t node)
{
    void *address = NULL;
    if (!gdx_hip_next.hipGraphMemFreeNodeGetParams || gdx_hip_next.hipGraphMemFreeNodeGetParams(node, &address) != hipSuccess)
        return false;
    const uint64_t words[] = { GDX_HIP_WORD(address), 0, 1 };
    return gdx_note_graph_node(GDX_CALL_note_graph_memory, walk, node, words, 3);
}

static bool describe_child(struct gdx_graph_walk *walk, hipGraphNode_t node, int depth)
{
    hipGraph_t child = NULL;
    if (!gdx_hip_next.hipGraphChildGraphNodeGetGraph
        || gdx_hip_next.hipGraphChildGraphNodeGetGraph(node, &child) != hipSuccess || !child)
        return false;
    gdx_graph_describe(walk, child, depth + 1);
    return true;
}

static bool describe_node(struct gdx_graph_walk *walk, void *node, int depth)
{
    switch (node ? type_of(node) : NOT_KNOWN) {
    case KERNEL: return note_kernel(walk, node);
    case FILL: return note_fill(walk, node);
    case GRAPH: return describe_child(walk, node, depth);
    case ALLOCATION: return note_allocation(walk, node);
    case FREE: return note_free(walk, node);
    default: return false;
    }
}

enum { COUNTED = 4096 };

/* Not every runtime takes a question without a list, as the real one does. One that is full may be part of a longer one: then more
 * nodes are told than can be described. */
static bool count_nodes(void *graph, size_t *count)
{
    size_t bytes = COUNTED * sizeof(hipGraphNode_t);
    hipGraphNode_t *nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nodes == MAP_FAILED)
        return false;
    *count = COUNTED;
    bool good = gdx_hip_next.hipGraphGetNodes(graph, nodes, count) == hipSuccess;
    *count += *count == COUNTED;
    munmap(nodes, bytes);
    return good;
}

static bool nodes_of(void *graph, void **nodes, size_t *count)
{
    if (!gdx_hip_next.hipGraphGetNodes)
        return false;
    return nodes ? gdx_hip_next.hipGraphGetNodes(graph, (hipGraphNode_t *)nodes, count) == hipSuccess : count_nodes(graph, count);
}

/* ---- made and updated ---- */

/* Questions that fail are not to be the error that the program is told (hooks.h): it was told none just now. */
static void graph_ready(hipError_t status, hipGraphExec_t exec, hipGraph_t graph)
{
    static const struct gdx_graph_api api = { nodes_of, describe_node };
    if (status != hipSuccess)
        return;
    if (gdx_hip_next.hipPeekAtLastError() != hipSuccess) {
        gdx_graph_unknown(exec);  /* an older error: a question of ours could hide it */
        return;
    }
    gdx_graph_ready(&api, exec, graph);
    if (gdx_hip_next.hipPeekAtLastError() != hipSuccess)
        gdx_hip_next.hipGetLastError();
}

void gdx_hip_after_hipGraphInstantiate(hipError_t status, hipGraphExec_t *result, hipGraph_t graph, hipGraphNode_t *failed,
                                       char *log, size_t room)
{
    (void)failed, (void)log, (void)room;
    graph_ready(status, status == hipSuccess && result ? *result : NULL, graph);
}

void gdx_hip_after_hipGraphInstantiateWithFlags(hipError_t status, hipGraphExec_t *result, hipGraph_t graph,
                                                unsigned long long flags)
{
    (void)flags;
    graph_ready(status, status == hipSuccess && result ? *result : NULL, graph);
}

void gdx_hip_after_hipGraphInstantiateWithParams(hipError_t status, hipGraphExec_t *result, hipGraph_t graph, void *params)
{
    (void)params;
    graph_ready(status, status == hipSuccess && result ? *result : NULL, graph);
}

void gdx_hip_after_hipGraphExecUpdate(hipError_t status, hipGraphExec_t graph_exec, hipGraph_t graph, hipGraphNode_t *failed,
                                      hipGraphExecUpdateResult *why)
{
    (void)failed, (void)why;
    graph_ready(status, graph_exec, graph);
}

/* Nodes of a child have handles of their own, which this does not name. */
void gdx_hip_after_hipGraphExecChildGraphNodeSetParams(hipError_t status, hipGraphExec_t graph_exec, hipGraphNode_t node,
                                                       hipGraph_t child)
{
    (void)node, (void)child;
    if (status == hipSuccess)
        gdx_graph_unknown(graph_exec);
}

/* ---- nodes of an instantiated graph that are changed one by one ---- */

hipError_t rec_hipGraphExecKernelNodeSetParams(hipGraphExec_t graph_exec, hipGraphNode_t node,
                                               const hipKernelNodeParams *params)
{
    struct gdx_open open;
    struct gdx_graph_kernel kernel = { 0 };
    struct gdx_lane *lane = gdx_lane();
    hipKernelNodeParams copy;
    if (lane && params && gdx_read(&lane->reader, &copy, params, sizeof copy))
        kernel = kernel_of(&copy);
    const struct gdx_layout *layout = kernel.function ? gdx_hip_layout_of(kernel.function) : NULL;
    if (gdx_hip_begin(&open, GDX_CALL_hipGraphExecKernelNodeSetParams, __builtin_return_address(0))) {
        gdx_put_graph_kernel(&open, graph_exec, node, &kernel);
        if (kernel.function)
            gdx_put_arguments(&open, layout, kernel.params, kernel.extra);
        gdx_commit(&open);
    }
    hipError_t status = gdx_hip_next.hipGraphExecKernelNodeSetParams(graph_exec, node, params);
    gdx_hip_end(&open, status);
    return status;
}
