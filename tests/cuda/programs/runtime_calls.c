/* Calls of a CUDA runtime that refuses by itself, as CUPTI would report them: the fake CUPTI calls back for each. */
#include "reach.h"

#include <dlfcn.h>

typedef void runtime_call(const char *function, const void *parameters, int result, const char *kernel);

static runtime_call *call;

struct copy_2d { void *dst; size_t dpitch; const void *src; size_t spitch, width, height; int kind; };
struct fill { void *dst; int value; size_t count; void *stream; };
struct launch { const void *function; unsigned grid[3], block[3]; void **args; size_t shared; void *stream; };

static void copy_rows(size_t pitch)
{
    struct copy_2d given = { (void *)0x1000, 2560, (void *)0x2000, pitch, 2400, 200, 1 };
    call("cudaMemcpy2D_v3020", &given, pitch < given.width ? 12 : 0, NULL);
}

static void launch_wide(unsigned threads)
{
    struct launch given = { NULL, { 32, 1, 1 }, { threads, 1, 1 }, NULL, 0, NULL };
    call("cudaLaunchKernel_v7000", &given, threads > 1024 ? 9 : 0, "_Z11softmax_rowPfi");
}

int main(int argc, char **argv)
{
    const char *library = getenv("GPUDX_RUNTIME_ERRORS");
    CUcontext context;
    CUdeviceptr memory;
    void *cupti = library ? dlopen(library, RTLD_NOW) : NULL;
    if (cupti)
        *(void **)&call = dlsym(cupti, "fake_runtime_call");
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuMemAlloc_v2)(&memory, 16));
    if (call && argc > 1 && !strcmp(argv[1], "pitch"))
        copy_rows(1200);
    if (call && argc > 1 && !strcmp(argv[1], "launch"))
        launch_wide(1500);
    if (call && argc > 1 && !strcmp(argv[1], "ordinary")) {
        copy_rows(2400);
        launch_wide(1024);
        call("cudaStreamQuery_v3020", NULL, 600, NULL);
        call("cudaDeviceEnablePeerAccess_v4000", NULL, 704, NULL);
        call("cudaGetLastError_v3020", NULL, 9, NULL);
        call("cudaDeviceSynchronize_v3020", NULL, 700, NULL);
    }
    if (call && argc > 1 && !strcmp(argv[1], "fill")) {
        struct fill swapped = { (void *)memory, 16, 0, NULL }, empty = { (void *)memory, 0, 0, NULL }, other = { (void *)memory, 7, 0, NULL };
        struct fill right = { (void *)memory, 16, 16, NULL };
        call("cudaMemsetAsync_v3020", &swapped, 0, NULL);
        call("cudaMemset_v3020", &empty, 0, NULL);
        call("cudaMemset_v3020", &other, 0, NULL);
        call("cudaMemset_v3020", &right, 0, NULL);
        call("cudaMemset2D_v3020", &swapped, 0, NULL);
    }
    if (call && argc > 1 && !strcmp(argv[1], "stale")) {
        call("cudaHostRegister_v4000", NULL, 712, NULL);
        call("cudaGetLastError_v3020", NULL, 712, NULL);
    }
    puts("done");
    return 0;
}
