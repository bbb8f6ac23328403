/* A little of everything, printing what the program sees. With and without the recorder the output must be the same. */
#include "reach.h"

struct big { double d[3]; int i, zero; };  /* 32 bytes: more than one word */
enum { N = 1000 };

static const char image[] = "kernel add 8 8 8 4\nkernel mixed 1 2 4 8 32 8\nkernel none\n";
static CUmodule module;
static CUfunction add, mixed, none;
static CUstream stream;

static void show_checksum(const char *what)
{
    uint64_t (*sum)(void);
    *(void **)&sum = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeChecksum");
    printf("%s: %016llx\n", what, sum ? (unsigned long long)sum() : 0);
}

static void vector_add(void)
{
    float a[N], b[N], out[N];
    CUdeviceptr da, db, dout;
    int n = N;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 2 * (float)i;
    }
    CHECK(DO(cuMemAlloc_v2)(&da, sizeof a));
    CHECK(DO(cuMemAlloc_v2)(&db, sizeof b));
    CHECK(DO(cuMemAlloc_v2)(&dout, sizeof out));
    CHECK(DO(cuMemcpyHtoD_v2)(da, a, sizeof a));
    CHECK(DO(cuMemcpyHtoDAsync_v2)(db, b, sizeof b, stream));
    CHECK(DO(cuMemsetD8_v2)(dout, 7, sizeof out));
    void *params[] = { &da, &db, &dout, &n };
    CHECK(DO(cuLaunchKernel)(add, (N + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CHECK(DO(cuStreamSynchronize)(stream));
    CHECK(DO(cuMemcpyDtoH_v2)(out, dout, sizeof out));
    printf("out[999] = %g\n", out[999]);
    CHECK(DO(cuMemFree_v2)(da));
    CHECK(DO(cuMemFree_v2)(db));
    CHECK(DO(cuMemFree_v2)(dout));
}

static void every_form_of_launch(void)
{
    unsigned char c = 0x11;
    unsigned short s = 0x2222;
    unsigned i = 0x33333333;
    unsigned long long q = 0x4444444444444444ull, last = 0x5555555555555555ull;
    struct big big = { { 1.5, 2.5, 3.5 }, 42, 0 };
    void *params[] = { &c, &s, &i, &q, &big, &last };
    CHECK(DO(cuLaunchKernel)(mixed, 1, 2, 3, 4, 5, 6, 64, NULL, params, NULL));
    struct {
        unsigned char c, pad;
        unsigned short s;
        unsigned i;
        unsigned long long q;
        struct big big;
        unsigned long long last;
    } packed = { c, 0, s, i, q, big, last };
    size_t bytes = sizeof packed;
    void *extra[] = { (void *)CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      (void *)CU_LAUNCH_PARAM_END };
    CHECK(DO(cuLaunchKernel)(mixed, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    CUlaunchAttribute attribute = { .id = 4, .value = { 2, 0, 0, 0, 1, 0, 0, 0, 1 } };
    CUlaunchConfig config = { 7, 1, 1, 8, 1, 1, 16, stream, &attribute, 1 };
    CHECK(DO(cuLaunchKernelEx)(&config, mixed, params, NULL));
    CHECK(DO(cuLaunchCooperativeKernel)(mixed, 2, 1, 1, 2, 1, 1, 0, stream, params));
    CHECK(DO(cuLaunchKernel)(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    show_checksum("launches");
}

static void kernels_of_libraries(void)
{
    CUlibrary library;
    CUkernel kernel;
    int one = 1, two = 2;
    void *params[] = { &one, &two };
    CHECK(DO(cuLibraryLoadData)(&library, "kernel scale 4 4\n", NULL, NULL, 0, NULL, NULL, 0));
    CHECK(DO(cuLibraryGetKernel)(&kernel, library, "scale"));
    CHECK(DO(cuLaunchKernel)((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    show_checksum("kernel");
}

static void graphs(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    int one = 100, two = 200;
    void *params[] = { &one, &two };
    CUmodule own;
    CUfunction pair;
    CHECK(DO(cuModuleLoadData)(&own, "kernel pair 4 4\n"));
    CHECK(DO(cuModuleGetFunction)(&pair, own, "pair"));
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 0));
    CHECK(DO(cuLaunchKernel)(pair, 3, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    show_checksum("captured");
    CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    one = -1;  /* the graph has its own copy */
    CHECK(DO(cuGraphLaunch)(exec, stream));
    show_checksum("graph");
    CHECK(DO(cuGraphExecDestroy)(exec));
    CHECK(DO(cuGraphDestroy)(graph));
    CHECK(DO(cuGraphCreate)(&graph, 0));
    CUDA_KERNEL_NODE_PARAMS p = { pair, 5, 1, 1, 6, 1, 1, 128, params, NULL, NULL, NULL };
    CHECK(DO(cuGraphAddKernelNode_v2)(&node, graph, NULL, 0, &p));
    CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    two = 300;
    CHECK(DO(cuGraphExecKernelNodeSetParams_v2)(exec, node, &p));
    CHECK(DO(cuGraphLaunch)(exec, stream));
    show_checksum("updated");
}

static void host_function(void *data)
{
    printf("host function: %s\n", (const char *)data);
}

static void order(void)
{
    CUevent event;
    CUstream other;
    CUdeviceptr memory;
    int polls = 0;
    CHECK(DO(cuEventCreate)(&event, 2));
    CHECK(DO(cuStreamCreate)(&other, 1));
    CHECK(DO(cuMemAllocAsync)(&memory, 4096, other));
    CHECK(DO(cuEventRecord)(event, stream));
    CHECK(DO(cuStreamWaitEvent)(other, event, 0));
    while (DO(cuEventQuery)(event) == CUDA_ERROR_NOT_READY)
        polls++;
    CHECK(DO(cuEventSynchronize)(event));
    CHECK(DO(cuStreamQuery)(stream));
    CHECK(DO(cuMemFreeAsync)(memory, other));
    CHECK(DO(cuLaunchHostFunc)(stream, host_function, "hello"));
    CHECK(DO(cuEventDestroy_v2)(event));
    CHECK(DO(cuStreamDestroy_v2)(other));
    printf("polls: %d\n", polls);
}

static void refused(void)
{
    CUdeviceptr memory = 0;
    CUmodule broken;
    CUfunction missing;
    char log[256] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)sizeof log };
    const char *name;
    printf("too many threads: %d\n", DO(cuLaunchKernel)(none, 1, 1, 1, 2048, 1, 1, 0, stream, NULL, NULL));
    printf("no memory: %d\n", DO(cuMemAlloc_v2)(&memory, 0));
    printf("no kernel: %d\n", DO(cuModuleGetFunction)(&missing, module, "missing"));
    printf("no module: %d, %s\n", DO(cuModuleLoadDataEx)(&broken, "nonsense", 2, options, values), log);
    printf("query: %d\n", DO(cuPointerGetAttribute)(&memory, 1, 0x1234));
    CHECK(DO(cuGetErrorName)(700, &name));
    printf("error 700: %s\n", name);
}

static void copy_of_a_box(void)
{
    char rows[4][64] = { { 0 } };
    CUdeviceptr memory;
    for (int i = 0; i < 4; i++)
        memset(rows[i], 'a' + i, sizeof rows[i]);
    CHECK(DO(cuMemAlloc_v2)(&memory, 4 * 128));
    CUDA_MEMCPY2D box = { .src = { .x = 8, .y = 1, .type = CU_MEMORYTYPE_HOST, .host = rows, .pitch = 64 },
                          .dst = { .x = 0, .y = 2, .type = CU_MEMORYTYPE_DEVICE, .device = memory, .pitch = 128 },
                          .width = 32, .height = 2 };
    CHECK(DO(cuMemcpy2D_v2)(&box));
    char back = 0;
    CHECK(DO(cuMemcpyDtoH_v2)(&back, memory + 3 * 128 + 31, 1));
    printf("box: %c\n", back);
    CHECK(DO(cuMemFree_v2)(memory));
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    int count = 0, version = 0;
    size_t left, total;
    reach_driver();
    CHECK(DO(cuDriverGetVersion)(&version));
    printf("before cuInit: %d\n", DO(cuDeviceGetCount)(&count));
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGetCount)(&count));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuMemGetInfo_v2)(&left, &total));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuModuleGetFunction)(&mixed, module, "mixed"));
    CHECK(DO(cuModuleGetFunction)(&none, module, "none"));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    vector_add();
    every_form_of_launch();
    kernels_of_libraries();
    graphs();
    order();
    refused();
    copy_of_a_box();
    CHECK(DO(cuStreamDestroy_v2)(stream));
    CHECK(DO(cuModuleUnload)(module));
    CHECK(DO(cuCtxSynchronize)());
    printf("%d device, version %d\n", count, version);
    return 0;
}
