/* Memory that outlives its last use, or does not. With "freed" the second launch uses freed memory; with "graph" a graph
 * does; with "past" a copy is too long; with nothing all is well. */
#include "reach.h"

static const char image[] = "kernel _Z5scalePfi 8 4\n";

static void launch(CUfunction scale, CUdeviceptr memory, CUstream stream)
{
    int n = 16;
    void *params[] = { &memory, &n };
    CHECK(DO(cuLaunchKernel)(scale, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
}

static CUgraphExec capture(CUfunction scale, CUdeviceptr memory, CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 0));
    launch(scale, memory, stream);
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    return exec;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUmodule module;
    CUfunction scale;
    CUstream stream;
    CUdeviceptr memory, other;
    char host[128] = { 0 };
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&scale, module, "_Z5scalePfi"));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    CHECK(DO(cuMemAlloc_v2)(&memory, 1 << 20));
    CHECK(DO(cuMemAlloc_v2)(&other, 100));
    CHECK(DO(cuMemcpyHtoD_v2)(other, host, strcmp(what, "past") ? 100 : 104));
    launch(scale, memory, stream);
    CUgraphExec exec = capture(scale, memory, stream);
    CHECK(DO(cuGraphLaunch)(exec, stream));
    if (!strcmp(what, "freed") || !strcmp(what, "graph"))
        CHECK(DO(cuMemFree_v2)(memory));
    if (strcmp(what, "graph"))
        launch(scale, memory, stream);
    else
        CHECK(DO(cuGraphLaunch)(exec, stream));
    printf("sync: %d\n", DO(cuStreamSynchronize)(stream));
    return DO(cuMemcpyDtoH_v2)(host, other, 100) ? 1 : 0;
}
