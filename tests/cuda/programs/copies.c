/* Copies and frees that are all well, but for the one that the argument names. Ends with 1 where a call is refused. */
#include "reach.h"

enum { BYTES = 4096, LONG = 1 << 20 };

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory, large;
    void *pinned;
    char *host = calloc(1, LONG);
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    CHECK(DO(cuMemAlloc_v2)(&memory, BYTES));
    CHECK(DO(cuMemAlloc_v2)(&large, LONG));
    CHECK(DO(cuMemHostAlloc)(&pinned, LONG, 0));
    CHECK(DO(cuMemcpyHtoDAsync_v2)(large, strcmp(what, "pageable") ? pinned : host, LONG, stream));
    CHECK(DO(cuMemcpyHtoD_v2)(memory, pinned, BYTES));
    CHECK(DO(cuMemcpyDtoD_v2)(memory + (strcmp(what, "overlap") ? 2048 : 100), memory, 2048));
    CUDA_MEMCPY2D box = { .src = { .type = CU_MEMORYTYPE_HOST, .host = host, .pitch = 128 },
                          .dst = { .x = 32, .type = CU_MEMORYTYPE_DEVICE, .device = memory, .pitch = 256 },
                          .width = strcmp(what, "pitch") ? 128 : 240, .height = 4 };
    box.src.pitch = strcmp(what, "pitch") ? 128 : 240;
    CHECK(DO(cuMemcpy2D_v2)(&box));
    if (!strcmp(what, "direction"))
        CHECK(DO(cuMemcpyHtoD_v2)((CUdeviceptr)(uintptr_t)host, (void *)(uintptr_t)memory, BYTES));
    if (!strcmp(what, "inside"))
        CHECK(DO(cuMemFree_v2)(memory + 256));
    if (!strcmp(what, "family"))
        CHECK(DO(cuMemFree_v2)((CUdeviceptr)(uintptr_t)pinned));
    if (!strcmp(what, "host"))
        CHECK(DO(cuMemFreeHost)(host));
    CHECK(DO(cuMemFree_v2)(memory));
    if (!strcmp(what, "twice"))
        CHECK(DO(cuMemFree_v2)(memory));
    CHECK(DO(cuMemFree_v2)(large));
    CHECK(DO(cuMemFreeHost)(pinned));
    return 0;
}
