/* Launches to capture: add(a, b, out, n), and follow(table, at, value), which finds its memory through an address in memory. */
#include "reach.h"

static const char image[] = "kernel add 8 8 8 4\nkernel follow 8 8 4\nkernel plain 4\n";
enum { N = 5000 };

int main(void)
{
    static float a[N], b[N];
    CUcontext context;
    CUmodule module;
    CUfunction add, follow;
    CUdeviceptr x, y, out, table;
    CUdevice device;
    int n = N;
    float value = 7.5f;
    long at = 3;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    char *copy = strdup(image);
    CHECK(DO(cuModuleLoadData)(&module, copy));
    memset(copy, 'x', strlen(copy));  /* the image need not stay */
    free(copy);
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuModuleGetFunction)(&follow, module, "follow"));
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)i / 3;
    }
    CHECK(DO(cuMemAlloc_v2)(&x, sizeof a));
    CHECK(DO(cuMemAlloc_v2)(&y, sizeof b));
    CHECK(DO(cuMemAlloc_v2)(&out, sizeof a));
    CHECK(DO(cuMemAlloc_v2)(&table, 64));
    CHECK(DO(cuMemcpyHtoD_v2)(x, a, sizeof a));
    CHECK(DO(cuMemcpyHtoD_v2)(y, b, sizeof b));
    CHECK(DO(cuMemsetD8_v2)(out, 0, sizeof a));
    CHECK(DO(cuMemsetD8_v2)(table, 0, 64));
    for (int i = 0; i < 2; i++) {
        void *params[] = { &x, &y, &out, &n };
        CHECK(DO(cuLaunchKernel)(add, 20, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
        CHECK(DO(cuMemcpyDtoD_v2)(x, out, sizeof a));
    }
    CHECK(DO(cuMemcpyHtoD_v2)(table, &out, sizeof out));
    void *params[] = { &table, &at, &value };
    CHECK(DO(cuLaunchKernel)(follow, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(DO(cuCtxSynchronize)());
    CHECK(DO(cuMemcpyDtoH_v2)(a, out, sizeof a));
    printf("%g %g %g\n", a[3], a[4], a[N - 1]);
    return 0;
}
