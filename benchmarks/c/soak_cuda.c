/* A small CUDA program that does what its argument says, letter by letter: benchmarks/soak.py makes them up. It runs on the fake
 * driver of tests/cuda/fake, of which 'E' and 'D' ask for a fault. */
#include "reach.h"

#include <pthread.h>

#include "soak.h"

enum { COUNT = 256, BYTES = COUNT * 4, BUFFERS = 4 };
static const char image[] = "kernel add 8 8 8 4\nkernel poke 8 8 4\nkernel mixed 1 2 4 8 32 8\n";
static CUcontext context;
static CUmodule module;
static CUfunction add, poke, mixed;
static CUstream streams[2];
static CUdeviceptr buffers[BUFFERS];
static float host[COUNT];

static void open_all(void)
{
    CUdevice device;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuModuleGetFunction)(&poke, module, "poke"));
    CHECK(DO(cuModuleGetFunction)(&mixed, module, "mixed"));
    for (int i = 0; i < 2; i++)
        CHECK(DO(cuStreamCreate)(&streams[i], 1));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    for (int i = 0; i < BUFFERS; i++) {
        CHECK(DO(cuMemAlloc_v2)(&buffers[i], BYTES));
        CHECK(DO(cuMemcpyHtoD_v2)(buffers[i], host, BYTES));
    }
}

static void poke_one(int i)
{
    long at = i * 10;
    float value = (float)i;
    void *params[] = { &buffers[i], &at, &value };
    say(DO(cuLaunchKernel)(poke, 1, 1, 1, 1, 1, 1, 0, streams[0], params, NULL));
}

static void add_two(int i)
{
    int *n = malloc(sizeof *n);  /* values on the heap are read in another way than those on the stack */
    *n = COUNT;
    void *params[] = { &buffers[i], &buffers[(i + 1) % BUFFERS], &buffers[(i + 2) % BUFFERS], n };
    say(DO(cuLaunchKernel)(add, 1, 1, 1, COUNT, 1, 1, 0, streams[0], params, NULL));
    free(n);
}

static void short_lived(void)
{
    CUdeviceptr memory;
    CUresult status = DO(cuMemAllocAsync)(&memory, BYTES, streams[0]);
    say(status);
    if (status)
        return;
    say(DO(cuMemcpyHtoDAsync_v2)(memory, host, BYTES, streams[0]));
    say(DO(cuMemFreeAsync)(memory, streams[0]));
}

static void refused(void)
{
    CUdeviceptr memory;
    CUfunction missing;
    say(DO(cuMemAlloc_v2)(&memory, 0));
    say(DO(cuModuleGetFunction)(&missing, module, "missing"));
    say(DO(cuLaunchKernel)(add, 1, 1, 1, 2048, 1, 1, 0, streams[0], NULL, NULL));
    say(DO(cuPointerGetAttribute)(&memory, 1, 0x1234));
}

static void every_form(void)
{
    static struct { unsigned char c, pad; unsigned short s; unsigned i; unsigned long long q; double d[4]; unsigned long long l; }
        packed = { 1, 0, 2, 3, 4, { 5, 6, 7, 8 }, 9 };
    size_t bytes = sizeof packed;
    void *extra[] = { (void *)CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      (void *)CU_LAUNCH_PARAM_END };
    void *params[] = { &packed.c, &packed.s, &packed.i, &packed.q, packed.d, &packed.l };
    CUlaunchConfig config = { 7, 1, 1, 8, 1, 1, 16, streams[1], NULL, 0 };
    say(DO(cuLaunchKernel)(mixed, 1, 1, 1, 32, 1, 1, 0, streams[1], NULL, extra));
    say(DO(cuLaunchKernelEx)(&config, mixed, params, NULL));
    say(DO(cuLaunchCooperativeKernel)(mixed, 2, 1, 1, 2, 1, 1, 0, streams[1], params));
}

static void graphs(void)
{
    CUgraph graph;
    CUgraphExec exec;
    say(DO(cuStreamBeginCapture_v2)(streams[0], 0));
    add_two(1);
    CUresult status = DO(cuStreamEndCapture)(streams[0], &graph);
    say(status);
    if (status)
        return;
    say(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    say(DO(cuGraphLaunch)(exec, streams[0]));
    say(DO(cuStreamSynchronize)(streams[0]));
    say(DO(cuGraphExecDestroy)(exec));
    say(DO(cuGraphDestroy)(graph));
}

/* The second stream reads what the first one wrote, ordered by an event. */
static void by_events(void)
{
    CUevent event;
    int n = COUNT;
    void *params[] = { &buffers[0], &buffers[1], &buffers[2], &n };
    say(DO(cuStreamSynchronize)(streams[1]));
    if (DO(cuEventCreate)(&event, 2))
        return;
    poke_one(0);
    say(DO(cuEventRecord)(event, streams[0]));
    say(DO(cuStreamWaitEvent)(streams[1], event, 0));
    say(DO(cuLaunchKernel)(add, 1, 1, 1, COUNT, 1, 1, 0, streams[1], params, NULL));
    say(DO(cuStreamSynchronize)(streams[1]));
    say(DO(cuEventDestroy_v2)(event));
}

static void *threaded(void *unused)
{
    CUdeviceptr memory;
    long at = 3;
    float value = 1;
    void *params[] = { &memory, &at, &value };
    DO(cuCtxSetCurrent)(context);
    if (DO(cuMemAlloc_v2)(&memory, BYTES) != CUDA_SUCCESS)
        return unused;
    DO(cuLaunchKernel)(poke, 1, 1, 1, 1, 1, 1, 0, streams[0], params, NULL);
    DO(cuStreamSynchronize)(streams[0]);
    DO(cuMemFree_v2)(memory);
    return unused;
}

static void threads(void)
{
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, threaded, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
}

static void called(void *number)
{
    printf("called %d\n", *(int *)number);
}

static void pinned(void)
{
    void *memory = NULL;
    static int number = 5;
    CUresult status = DO(cuMemHostAlloc)(&memory, BYTES, 0);
    say(status);
    if (status)
        return;
    say(DO(cuMemcpyDtoH_v2)(memory, buffers[1], BYTES));
    printf("%g\n", ((float *)memory)[7]);
    say(DO(cuMemFreeHost)(memory));
    say(DO(cuLaunchHostFunc)(streams[0], called, &number));
}

static void queries(void)
{
    CUdeviceptr base = 0, start = 0, none = 0;
    size_t bytes = 0, size = 0;
    CUpointer_attribute which[] = { 11, 12 };
    void *values[] = { &start, &size };
    say(DO(cuMemGetAddressRange_v2)(&base, &bytes, buffers[2] + 8));
    say(DO(cuPointerGetAttributes)(2, which, values, buffers[2] + 8));
    printf("%zu %d %zu %d", bytes, base == buffers[2], size, start == buffers[2]);
    printf(" %d %d\n", DO(cuPointerGetAttribute)(&none, 12, buffers[2]), DO(cuMemGetAddressRange_v2)(&none, &size, 0x1234));
}

static void show(int i)
{
    double sum = 0;
    say(DO(cuStreamSynchronize)(streams[0]));
    say(DO(cuMemcpyDtoH_v2)(host, buffers[i], BYTES));
    for (int k = 0; k < COUNT; k++)
        sum += host[k];
    printf("%g\n", sum);
}

/* Its first call is where the fake driver was told to fail or to crash. */
static void driver_fault(void)
{
    CUmodule none;
    fflush(stdout);
    say(DO(cuModuleLoad)(&none, "nowhere"));
    say(DO(cuCtxSynchronize)());
    add_two(0);
    say(DO(cuMemcpyDtoH_v2)(host, buffers[0], BYTES));
}

static void step(char what)
{
    switch (what) {
    case 'f': case 'g': case 'h': poke_one(what - 'f'); break;
    case 'a': case 'b': case 'c': add_two(what - 'a'); break;
    case 's': short_lived(); break;
    case 'r': refused(); break;
    case 'l': every_form(); break;
    case 'y': graphs(); break;
    case 'e': by_events(); break;
    case 't': threads(); break;
    case 'm': pinned(); break;
    case 'i': queries(); break;
    case 'w': say(DO(cuCtxSynchronize)()); break;
    case 'p': show(0); break;
    case 'q': show(1); break;
    case 'o': fork_one(); break;
    case 'x': start_one(); break;
    case 'E': case 'D': driver_fault(); break;
    case 'N': say(DO(cuLaunchKernel)(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); break;
    default: end(what);
    }
}

int main(int argc, char **argv)
{
    const char *todo = argc > 1 ? argv[1] : "";
    if (strchr(todo, 'E'))
        setenv("FAKE_CUDA_FAIL", "cuModuleLoad:1:700", 1);
    if (strchr(todo, 'D'))
        setenv("FAKE_CUDA_CRASH", "cuModuleLoad:1", 1);
    open_all();
    for (; *todo; todo++)
        step(*todo);
    say(DO(cuCtxSynchronize)());
    uint64_t (*sum)(void);
    *(void **)&sum = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeChecksum");
    printf("%llx\n", sum ? (unsigned long long)sum() : 0);
    tell();
    return 0;
}
