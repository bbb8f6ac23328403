/* Memory of every family, fresh, as the program finds it. What a driver leaves in fresh memory differs, so nothing of it is
 * printed but whether it is one pattern all over: "N of M".
 *
 *   fresh            what there is in fresh memory of each family
 *   fresh written    everything is written before it is read
 *   fresh capture    allocations while a stream is captured
 *   fresh contexts   one context after the other, each with memory of its own
 *   fresh given      a kernel reads memory that nothing has written; with "first", a fill comes before, with "other", a kernel
 *                    that may write it */
#include "reach.h"

static CUstream stream;
static CUcontext context;

static void show(const char *name, const unsigned char *bytes, size_t size, unsigned low, unsigned high)
{
    size_t found = 0;
    for (size_t i = 0; i < size; i++)
        found += bytes[i] == (i % 2 ? high : low);
    fprintf(stderr, "%s %zu of %zu\n", name, found, size);
}

static void show_device(const char *name, CUdeviceptr memory, size_t size, unsigned low, unsigned high)
{
    unsigned char *room = malloc(size);
    CHECK(DO(cuMemcpyDtoH_v2)(room, memory, size));
    show(name, room, size, low, high);
    free(room);
}

static void fresh(unsigned low, unsigned high)
{
    CUdeviceptr memory;
    size_t pitch;
    void *host;
    CHECK(DO(cuMemAlloc_v2)(&memory, 1001));
    show_device("device", memory, 1001, low, high);
    show_device("part", memory + 500, 400, low, high);
    CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuMemAllocPitch_v2)(&memory, &pitch, 100, 3, 4));
    show_device("pitch", memory, pitch * 3, low, high);
    CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuMemAllocAsync)(&memory, 64, stream));
    show_device("ordered", memory, 64, low, high);
    CHECK(DO(cuMemFreeAsync)(memory, stream));
    CHECK(DO(cuMemAllocManaged)(&memory, 64, 1));
    show_device("managed", memory, 64, low, high);
    CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuMemHostAlloc)(&host, 33, 0));
    show("host", host, 33, low, high);
    CHECK(DO(cuMemFreeHost)(host));
}

static void written(void)
{
    CUdeviceptr memory;
    char room[1000];
    CHECK(DO(cuMemAlloc_v2)(&memory, sizeof room));
    CHECK(DO(cuMemsetD8_v2)(memory, 7, sizeof room));
    CHECK(DO(cuMemcpyDtoH_v2)(room, memory, sizeof room));
    printf("%d %d\n", room[0], room[999]);
    CHECK(DO(cuMemFree_v2)(memory));
}

static void capture(void)
{
    CUdeviceptr one, two;
    CUgraph graph;
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 2));
    CHECK(DO(cuMemAllocAsync)(&one, 100, stream));
    CHECK(DO(cuMemAlloc_v2)(&two, 100));
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    CHECK(DO(cuMemFree_v2)(two));
}

static void contexts(void)
{
    for (int i = 0; i < 100; i++) {
        CHECK(DO(cuCtxDestroy_v2)(context));
        CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
        written();
    }
}

static void launch(CUmodule module, const char *name, CUdeviceptr out, CUdeviceptr in)
{
    CUfunction kernel;
    void *params[] = { &out, &in };
    CHECK(DO(cuModuleGetFunction)(&kernel, module, name));
    CHECK(DO(cuLaunchKernel)(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

static void given(const char *before)
{
    CUmodule module;
    CUdeviceptr out, in, other;
    CHECK(DO(cuModuleLoadData)(&module, "kernel _Z5scalePfPKf 8 8\nkernel _Z4pairPfS_ 8 8\n"));
    CHECK(DO(cuMemAlloc_v2)(&out, 256));
    CHECK(DO(cuMemAlloc_v2)(&in, 1024));
    CHECK(DO(cuMemAlloc_v2)(&other, 256));
    if (!strcmp(before, "first"))
        CHECK(DO(cuMemsetD8_v2)(in, 0, 1024));
    if (!strcmp(before, "other"))
        launch(module, "_Z4pairPfS_", other, in);
    launch(module, "_Z5scalePfPKf", out, in);
    CHECK(DO(cuCtxSynchronize)());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    if (!strcmp(what, "written"))
        written();
    else if (!strcmp(what, "capture"))
        capture();
    else if (!strcmp(what, "contexts"))
        contexts();
    else if (!strcmp(what, "given"))
        given(argc > 2 ? argv[2] : "");
    else
        fresh(strcmp(what, "nan") ? 0xcb : 0xff, strcmp(what, "nan") ? 0xcb : 0x7f);
    CHECK(DO(cuCtxDestroy_v2)(context));
    puts("done");
    return 0;
}
