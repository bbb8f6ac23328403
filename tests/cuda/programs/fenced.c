/* Memory at its edges. What is printed is the same on every driver that is right; addresses are not printed.
 *
 *   fenced ok             many sizes and families, used up to their edges
 *   fenced past N [COUNT] add() over COUNT floats (1000 unless told), N more than there are
 *   fenced before         add() writes one float before its output
 *   fenced freed          add() reads memory after its free; "freed async" after a free in the order of a stream
 *   fenced statuses       what the driver says to odd requests
 *   fenced ranges         how large the driver says that allocations are
 *   fenced capture        allocations while a stream is captured
 *   fenced threads        four threads allocate, use and free
 *   fenced many N         N allocations of one byte, all live
 *   fenced churn N        N allocations, freed one after the other
 *   fenced parts          add() over three parts of one allocation
 *   fenced fork           the child of a process with fenced memory frees what it knows of it */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reach.h"

static const char image[] = "kernel add 8 8 8 4\n";
static CUcontext context;
static CUfunction add;
static CUstream stream;

static void launch_add(CUdeviceptr a, CUdeviceptr b, CUdeviceptr out, int n)
{
    void *params[] = { &a, &b, &out, &n };
    CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static CUdeviceptr floats(int n)
{
    CUdeviceptr made;
    float *values = malloc((size_t)n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
    CHECK(DO(cuMemAlloc_v2)(&made, (size_t)n * sizeof *values));
    CHECK(DO(cuMemcpyHtoD_v2)(made, values, (size_t)n * sizeof *values));
    free(values);
    return made;
}

static float last_of(CUdeviceptr memory, int n)
{
    float value = 0;
    CHECK(DO(cuMemcpyDtoH_v2)(&value, memory + ((size_t)n - 1) * sizeof value, sizeof value));
    return value;
}

static void sum(int n)
{
    CUdeviceptr a = floats(n), b = floats(n), out = floats(n);
    launch_add(a, b, out, n);
    CHECK(DO(cuStreamSynchronize)(stream));
    printf("%d: %g, aligned %d\n", n, last_of(out, n), a % 16 == 0);
    CHECK(DO(cuMemFree_v2)(a));
    CHECK(DO(cuMemFree_v2)(b));
    CHECK(DO(cuMemFree_v2)(out));
}

static void parts(void)
{
    CUdeviceptr all = floats(3000);
    launch_add(all, all + 4000, all + 8000, 1000);
    CHECK(DO(cuMemFree_v2)(all));
}

static void ok(void)
{
    static const int sizes[] = { 1, 2, 3, 63, 64, 65, 1000, 4096, 524287, 524288, 524289, 2000000 };
    CUdeviceptr memory;
    size_t pitch;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        sum(sizes[i]);
    CHECK(DO(cuMemAllocPitch_v2)(&memory, &pitch, 100, 7, 4));
    CHECK(DO(cuMemsetD8_v2)(memory, 1, pitch * 7));
    printf("pitch %zu\n", pitch);
    CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuMemAllocAsync)(&memory, 1000, stream));
    CHECK(DO(cuMemsetD8_v2)(memory, 1, 1000));
    CHECK(DO(cuMemFreeAsync)(memory, stream));
    CHECK(DO(cuMemAllocManaged)(&memory, 1000, 1));
    CHECK(DO(cuMemsetD8_v2)(memory, 1, 1000));
    CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuCtxSynchronize)());
}

/* What cudaDeviceSynchronize calls, from CUDA 13 on, and nothing else that waits. */
static void only_context_waits(void)
{
    CUdeviceptr a = floats(1000), b = floats(1000), out = floats(1000);
    CUresult (*wait)(CUcontext) = (CUresult (*)(CUcontext))dlsym(
        dlopen("libcuda.so.1", RTLD_NOW), "cuCtxSynchronize_v2");
    launch_add(a, b, out, 1001);
    CHECK(wait(context));
    puts("done");
    exit(0);
}

static void outside(int past, int before, int n)
{
    CUdeviceptr a = floats(n), b = floats(n), out = floats(n);
    launch_add(a, b, out, n);
    CHECK(DO(cuStreamSynchronize)(stream));
    launch_add(a, b, out - (size_t)before * sizeof(float), n + past);
    CHECK(DO(cuStreamSynchronize)(stream));
    printf("last %g\n", last_of(out, n));
}

static void freed(int ordered)
{
    CUdeviceptr a = floats(1000), b = floats(1000), out = floats(1000);
    if (ordered) {
        CHECK(DO(cuMemFree_v2)(b));
        CHECK(DO(cuMemAllocAsync)(&b, 4000, stream));
        CHECK(DO(cuMemFreeAsync)(b, stream));
    } else {
        CHECK(DO(cuMemFree_v2)(b));
    }
    launch_add(a, b, out, 1000);
    CHECK(DO(cuStreamSynchronize)(stream));
}

static void statuses(void)
{
    CUdeviceptr memory = 0;
    CUipcMemHandle handle;
    printf("nothing %d\n", DO(cuMemAlloc_v2)(&memory, 0));
    printf("free 0 %d\n", DO(cuMemFree_v2)(0));
    CHECK(DO(cuMemAlloc_v2)(&memory, 100));
    printf("shared %d\n", DO(cuIpcGetMemHandle)(&handle, memory));
    printf("ordered %d\n", DO(cuMemFreeAsync)(memory, stream));
    printf("freed %d\n", DO(cuMemFree_v2)(memory));
    printf("twice %d\n", DO(cuMemFree_v2)(memory));
}

static void ranges(void)
{
    CUdeviceptr memory, base = 0;
    CUpointer_attribute which[] = { 11, 12, 1 };
    CUdeviceptr start = 0;
    CUcontext of = NULL;
    size_t size = 0, bytes = 0;
    void *values[] = { &start, &bytes, &of };
    CHECK(DO(cuMemAlloc_v2)(&memory, 12345));
    CHECK(DO(cuMemGetAddressRange_v2)(&base, &size, memory + 12344));
    CHECK(DO(cuPointerGetAttributes)(3, which, values, memory + 1));
    printf("range %d %zu\n", base == memory, size);
    printf("attributes %d %zu %d\n", start == memory, bytes, of == context);
    CHECK(DO(cuPointerGetAttribute)(&bytes, 12, memory));
    printf("attribute %zu\n", bytes);
}

static void capture(void)
{
    CUdeviceptr before, one, two;
    CUgraph graph;
    CHECK(DO(cuMemAlloc_v2)(&before, 100));
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 2));
    CHECK(DO(cuMemAllocAsync)(&one, 100, stream));
    CHECK(DO(cuMemAlloc_v2)(&two, 100));
    CHECK(DO(cuMemFree_v2)(before));
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    CHECK(DO(cuMemFree_v2)(two));
    CHECK(DO(cuCtxSynchronize)());
    printf("twice %d\n", DO(cuMemFree_v2)(before));
}

static void *work(void *number)
{
    CUdeviceptr held[8] = { 0 };
    CHECK(DO(cuCtxSetCurrent)(context));
    for (int i = 0; i < 400; i++) {
        int at = i % 8;
        if (held[at])
            CHECK(DO(cuMemFree_v2)(held[at]));
        held[at] = floats(1 + (i * 37 + *(int *)number) % 5000);
        CHECK(DO(cuStreamSynchronize)(stream));
    }
    for (int at = 0; at < 8; at++)
        CHECK(DO(cuMemFree_v2)(held[at]));
    return NULL;
}

static void threads(void)
{
    pthread_t made[4];
    int numbers[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
}

static void many(int n)
{
    CUdeviceptr memory;
    for (int i = 0; i < n; i++)
        CHECK(DO(cuMemAlloc_v2)(&memory, 1));
}

static void churn(int n)
{
    CUdeviceptr memory;
    for (int i = 0; i < n; i++) {
        CHECK(DO(cuMemAlloc_v2)(&memory, 1));
        CHECK(DO(cuMemFree_v2)(memory));
    }
}

static void forks(void)
{
    CUdeviceptr memory = floats(100);
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        exit(DO(cuMemFree_v2)(memory) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    waitpid(child, &status, 0);
    printf("child %d, freed %d\n", status, DO(cuMemFree_v2)(memory));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ok";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    CUmodule module;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    if (!strcmp(what, "ok"))
        ok();
    else if (!strcmp(what, "past"))
        outside(number, 0, argc > 3 ? atoi(argv[3]) : 1000);
    else if (!strcmp(what, "before"))
        outside(0, 1, 1000);
    else if (!strcmp(what, "context"))
        only_context_waits();
    else if (!strcmp(what, "freed"))
        freed(argc > 2);
    else if (!strcmp(what, "statuses"))
        statuses();
    else if (!strcmp(what, "ranges"))
        ranges();
    else if (!strcmp(what, "capture"))
        capture();
    else if (!strcmp(what, "threads"))
        threads();
    else if (!strcmp(what, "many"))
        many(number);
    else if (!strcmp(what, "churn"))
        churn(number);
    else if (!strcmp(what, "parts"))
        parts();
    else if (!strcmp(what, "fork"))
        forks();
    CHECK(DO(cuCtxDestroy_v2)(context));
    puts("done");
    return 0;
}
