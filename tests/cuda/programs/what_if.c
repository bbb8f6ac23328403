/* Adds vectors, copies and fills, and prints what came of it: for tests that change one thing about these calls. */
#include <stddef.h>

#include "reach.h"

enum { N = 8, ROW = 3, PITCH = 4 };
static float a[N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[N] = { 10, 20, 30, 40, 50, 60, 70, 80 }, ones[N] = { 1, 1, 1, 1, 1, 1, 1, 1 };

static void show(const char *what, CUdeviceptr from)
{
    float out[N] = { 0 };
    CHECK(DO(cuMemcpyDtoH_v2)(out, from, sizeof out));
    printf("%s:", what);
    for (int i = 0; i < N; i++)
        printf(" %g", (double)out[i]);
    printf("\n");
}

static CUdeviceptr filled(const float *values)
{
    CUdeviceptr memory;
    CHECK(DO(cuMemAlloc_v2)(&memory, sizeof a));
    CHECK(DO(cuMemcpyHtoD_v2)(memory, values, sizeof a));
    return memory;
}

static void read_rows(CUdeviceptr from)
{
    float out[2 * ROW] = { 0 };
    const CUDA_MEMCPY2D box = {
        .src = { .type = CU_MEMORYTYPE_DEVICE, .device = from, .pitch = PITCH * sizeof(float) },
        .dst = { .type = CU_MEMORYTYPE_HOST, .host = out, .pitch = ROW * sizeof(float) },
        .width = ROW * sizeof(float),
        .height = 2,
    };
    CHECK(DO(cuMemcpy2D_v2)(&box));
    printf("rows: %g %g %g, %g %g %g\n", (double)out[0], (double)out[1], (double)out[2], (double)out[3], (double)out[4], (double)out[5]);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction add;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel add 8 8 8 4\n"));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CUdeviceptr x = filled(a), y = filled(b), other = filled(ones), out = filled(ones), save = filled(ones);
    int n = 4;
    struct { CUdeviceptr x, y, out; int n; } packed = { x, y, out, n };
    size_t bytes = offsetof(__typeof__(packed), n) + sizeof n;
    void *params[] = { &x, &y, &out, &n };
    void *extra[] = { (void *)CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      (void *)CU_LAUNCH_PARAM_END };
    const int is_packed = argc > 1 && !strcmp(argv[1], "packed");
    CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 8, 1, 1, 0, NULL, is_packed ? NULL : params, is_packed ? extra : NULL));
    show("sum", out);
    CHECK(DO(cuMemcpyDtoD_v2)(save, out, sizeof a));
    show("saved", save);
    CHECK(DO(cuMemsetD8_v2)(other, 0, N));
    show("filled", other);
    read_rows(x);
    return packed.n - n;
}
