/* Launches in turn in several streams, with copies and a graph among them, then a wait.
 *
 *     crumbs STREAMS LAUNCHES [graph] [own] [again] [green] [many] [wait=N]
 *
 * Stream 1 is the legacy default stream where STREAMS is 1. `own`: per-thread default streams; `again`: the context is destroyed and
 * made again first; `green`: work
 * is done in a green context, which is destroyed and made again after one launch; `many`: streams are made and destroyed by the hundred first; wait=N: the program waits in stream N, from 1. */
#include "reach.h"

static CUfunction function;

static CUfunction begin(CUcontext *context)
{
    CUmodule module;
    CHECK(DO(cuCtxCreate_v2)(context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel pair 4 4\n"));
    CHECK(DO(cuModuleGetFunction)(&function, module, "pair"));
    return function;
}

static CUgreenCtx into_green(void)
{
    CUgreenCtx green;
    CUcontext context;
    CHECK(DO(cuGreenCtxCreate)(&green, NULL, 0, 1));
    CHECK(DO(cuCtxFromGreenCtx)(&context, green));
    CHECK(DO(cuCtxSetCurrent)(context));
    return green;
}

static CUresult launch(int i, CUstream stream)
{
    int twice = 2 * i;
    void *params[] = { &i, &twice };
    return DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static CUgraphExec graph_of(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 0));
    for (int i = 0; i < 3; i++)
        CHECK(launch(1000 + i, stream));
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    return exec;
}

static int has(int argc, char **argv, const char *word)
{
    for (int i = 3; i < argc; i++)
        if (!strncmp(argv[i], word, strlen(word)))
            return i;
    return 0;
}

int main(int argc, char **argv)
{
    int streams = atoi(argv[1]), launches = atoi(argv[2]), wait = has(argc, argv, "wait=");
    CUcontext context;
    CUstream stream[16] = { NULL };
    CUgraphExec exec = NULL;
    CUresult status = CUDA_SUCCESS;
    reach_driver();
    CHECK(DO(cuInit)(0));
    begin(&context);
    if (has(argc, argv, "again")) {
        CHECK(launch(-1, NULL));
        CHECK(DO(cuCtxDestroy_v2)(context));
        begin(&context);
    }
    if (has(argc, argv, "green")) {
        CUgreenCtx green = into_green();
        CHECK(launch(-3, NULL));
        CHECK(DO(cuGreenCtxDestroy)(green));
        into_green();
    }
    for (int i = 0; has(argc, argv, "many") && i < 500; i++) {
        CHECK(DO(cuStreamCreate)(&stream[0], 1));
        CHECK(launch(-2, stream[0]));
        CHECK(DO(cuStreamDestroy_v2)(stream[0]));
        stream[0] = NULL;
    }
    for (int i = 0; streams > 1 && i < streams; i++)
        CHECK(DO(cuStreamCreate)(&stream[i], 1));
    if (has(argc, argv, "graph"))
        exec = graph_of(stream[0]);
    for (int i = 0; i < launches; i++) {
        CUresult now = exec && i % 5 == 4 ? DO(cuGraphLaunch)(exec, stream[i % streams]) : launch(i, stream[i % streams]);
        if (now && !status)
            printf("launch %d: %d\n", i, now);
        status = status ? status : now;
    }
    fflush(stdout);
    status = wait ? DO(cuStreamSynchronize)(stream[atoi(argv[wait] + 5) - 1]) : DO(cuCtxSynchronize)();
    printf("sync: %d\n", status);
    return status != CUDA_SUCCESS;
}
