/* Captures that end without success: with their stream, or by an error. What comes after them is no capture.
 *   abandons destroyed | failed | right */
#include "reach.h"

static const char image[] = "kernel _Z5scalePfi 8 4\n";
static CUfunction scale;

static void launch(CUdeviceptr memory, CUstream stream)
{
    int n = 16;
    void *params[] = { &memory, &n };
    CHECK(DO(cuLaunchKernel)(scale, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "right";
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory;
    CUstream captured, after;
    CUgraph graph;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&scale, module, "_Z5scalePfi"));
    CHECK(DO(cuMemAlloc_v2)(&memory, 4096));
    CHECK(DO(cuStreamCreate)(&captured, 0));
    CHECK(DO(cuStreamCreate)(&after, 0));
    CHECK(DO(cuStreamBeginCapture_v2)(captured, 0));
    launch(memory, captured);
    if (!strcmp(what, "failed"))
        DO(cuStreamSynchronize)(captured);  /* spoils the capture: its end fails */
    if (strcmp(what, "destroyed"))
        printf("%d\n", DO(cuStreamEndCapture)(captured, &graph) == CUDA_SUCCESS);
    CHECK(DO(cuStreamDestroy_v2)(captured));
    launch(memory, after);
    CHECK(DO(cuStreamSynchronize)(after));
    return 0;
}
