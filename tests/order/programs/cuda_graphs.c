/* Graphs: a launch is work of its stream like any other, and ordered after earlier launches of the same executable. */
#include "planted_cuda.h"

/* A graph of one kernel, out = left + ones. */
static CUgraph captured(CUdeviceptr left, CUdeviceptr out)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture_v2(a, 0));
    add(a, left, ones, out);
    CHECK(cuStreamEndCapture(a, &graph));
    return graph;
}

static CUgraphExec made_of(CUgraph graph)
{
    CUgraphExec made;
    CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    return made;
}

static void destroy(CUgraph graph, CUgraphExec exec)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void output_read(void)
{
    CUgraph graph = captured(ones, y);
    CUgraphExec exec = made_of(graph);
    CHECK(cuGraphLaunch(exec, a));
    if (twin)
        order(a, b, done);
    CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, b));
    host_result = back;
    destroy(graph, exec);
}

static void input_overwritten(void)
{
    CUgraph graph = captured(x, y);
    CUgraphExec exec = made_of(graph);
    CHECK(cuGraphLaunch(exec, a));
    if (twin)
        order(a, b, done);
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, b));
    destroy(graph, exec);
}

static void input_not_ready(void)
{
    CUgraph graph = captured(x, y);
    CUgraphExec exec = made_of(graph);
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, b));
    if (twin)
        order(b, a, done);
    CHECK(cuGraphLaunch(exec, a));
    destroy(graph, exec);
}

/* Two executables of one graph know nothing of each other; two launches of one executable are ordered. */
static void two_executables(void)
{
    CUgraph graph = captured(ones, y);
    CUgraphExec first = made_of(graph), second = made_of(graph);
    CHECK(cuGraphLaunch(first, a));
    CHECK(cuGraphLaunch(twin ? first : second, b));
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(second));
    destroy(graph, first);
}

/* The graph was made for memory that was freed since; something else lives there now. */
static void stale_graph(void)
{
    CUdeviceptr m, n;
    CHECK(cuMemAlloc_v2(&m, M_BYTES));
    CUgraph graph = captured(ones, m);
    CUgraphExec exec = made_of(graph);
    CHECK(cuGraphLaunch(exec, a));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(m));
    CHECK(cuMemAlloc_v2(&n, M_BYTES));
    CHECK(cuMemsetD8Async(n, 0, M_BYTES, a));
    if (twin) {
        destroy(graph, exec);
        graph = captured(ones, y);
        exec = made_of(graph);
    }
    CHECK(cuGraphLaunch(exec, a));
    destroy(graph, exec);
    CHECK(cuMemFree_v2(n));
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "output-read", output_read, 2 },
        { "input-overwritten", input_overwritten, 6 },
        { "input-not-ready", input_not_ready, 3 },
        { "two-executables", two_executables, 2 },
        { "stale-graph", stale_graph, 2 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
