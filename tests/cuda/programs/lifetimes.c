/* Two streams share memory of a third kind each: of a stream's pool, of the device, of the host. All is well, but for what
 * the argument names:
 *   never, late   the event between the streams is not recorded, or only after the wait for it
 *   early, now    the pool's memory is freed in the stream that does not know of its last use, or at once
 *   pinned        host memory is freed while a copy may still read it
 *   capture       a wait during a capture
 *   event         an event is recorded after it was destroyed
 *   null          memory could not be allocated, and the kernel gets null
 *   again         the same, but less is allocated instead: all is well */
#include "reach.h"

static const char image[] = "kernel _Z5scalePfi 8 4\n";
enum { BYTES = 4096 };
static const size_t TOO_MUCH = (size_t)1 << 60;
static const char *what = "";
static CUfunction scale;
static CUstream one, two;

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static void launch(CUdeviceptr memory, CUstream stream)
{
    int n = 16;
    void *params[] = { &memory, &n };
    CHECK(DO(cuLaunchKernel)(scale, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
}

/* The second stream goes on with what the first one made. */
static void hand_over(CUdeviceptr memory)
{
    CUevent ready;
    CHECK(DO(cuEventCreate)(&ready, 0));
    launch(memory, one);
    if (!is("never") && !is("late"))
        CHECK(DO(cuEventRecord)(ready, one));
    CHECK(DO(cuStreamWaitEvent)(two, ready, 0));
    if (is("late"))
        CHECK(DO(cuEventRecord)(ready, one));
    launch(memory, two);
    if (is("never") || is("late"))
        CHECK(DO(cuCtxSynchronize)());
    CHECK(DO(cuEventDestroy_v2)(ready));
    if (is("event"))
        DO(cuEventSynchronize)(ready);
}

static void use_what_was_not_allocated(void)
{
    CUdeviceptr memory = 0;
    if (DO(cuMemAlloc_v2)(&memory, TOO_MUCH) != CUDA_SUCCESS && is("again"))
        CHECK(DO(cuMemAlloc_v2)(&memory, BYTES));
    launch(memory, one);
}

static void free_pool_memory(CUdeviceptr memory)
{
    if (is("now"))
        CHECK(DO(cuMemFree_v2)(memory));
    else
        CHECK(DO(cuMemFreeAsync)(memory, is("early") ? one : two));
    CHECK(DO(cuCtxSynchronize)());
}

static void copy_from_pinned(CUdeviceptr memory)
{
    void *pinned;
    CHECK(DO(cuMemHostAlloc)(&pinned, BYTES, 0));
    CHECK(DO(cuMemcpyHtoDAsync_v2)(memory, pinned, BYTES, one));
    if (!is("pinned"))
        CHECK(DO(cuStreamSynchronize)(one));
    CHECK(DO(cuMemFreeHost)(pinned));
}

static CUgraphExec capture(CUdeviceptr memory)
{
    CUgraph graph;
    CUgraphExec exec = NULL;
    CHECK(DO(cuStreamBeginCapture_v2)(one, 0));
    launch(memory, one);
    if (is("capture"))
        printf("wait: %d\n", DO(cuStreamSynchronize)(one));
    if (DO(cuStreamEndCapture)(one, &graph) == CUDA_SUCCESS)
        CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    return exec;
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory, pool;
    what = argc > 1 ? argv[1] : "";
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&scale, module, "_Z5scalePfi"));
    CHECK(DO(cuStreamCreate)(&one, CU_STREAM_NON_BLOCKING));
    CHECK(DO(cuStreamCreate)(&two, CU_STREAM_NON_BLOCKING));
    CHECK(DO(cuMemAlloc_v2)(&memory, BYTES));
    CHECK(DO(cuMemAllocAsync)(&pool, BYTES, one));
    hand_over(pool);
    free_pool_memory(pool);
    copy_from_pinned(memory);
    if (is("null") || is("again"))
        use_what_was_not_allocated();
    CUgraphExec exec = capture(memory);
    if (exec)
        CHECK(DO(cuGraphLaunch)(exec, one));
    CHECK(DO(cuCtxSynchronize)());
    printf("done\n");
    return 0;
}
