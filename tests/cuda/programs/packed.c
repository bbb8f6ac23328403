/* Launches a kernel (float *x, int n, double dt) with its arguments in one buffer: of as many bytes as the command line says. */
#include "reach.h"

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction step;
    struct { unsigned long long x; int n; double dt; } packed = { 0x1000, 300, 0.25 };
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : sizeof packed;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel step 8 4 8\n"));
    CHECK(DO(cuModuleGetFunction)(&step, module, "step"));
    void *extra[] = { (void *)CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      (void *)CU_LAUNCH_PARAM_END };
    CHECK(DO(cuLaunchKernel)(step, 3, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    return 0;
}
