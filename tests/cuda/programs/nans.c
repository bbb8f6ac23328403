/* nans inf|host|place|none: six launches of add; from the fourth on two numbers are too large for their sum, or one is a NaN from the host.
 * `place`: the sum replaces its first operand, which the kernel is also passed as const. */
#include <math.h>

#include "reach.h"

static const char image[] = "kernel _Z3addPfS_S_i 8 8 8 4\nkernel _Z3addPKfS0_Pfi 8 8 8 4\n";
enum { N = 1000 };

int main(int argc, char **argv)
{
    static float a[N], b[N];
    const char *what = argc > 1 ? argv[1] : "none";
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUdeviceptr x, y, out;
    CUdevice device;
    int n = N, in_place = !strcmp(what, "place");
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, in_place ? "_Z3addPKfS0_Pfi" : "_Z3addPfS_S_i"));
    CHECK(DO(cuMemAlloc_v2)(&x, sizeof a));
    CHECK(DO(cuMemAlloc_v2)(&y, sizeof a));
    CHECK(DO(cuMemAlloc_v2)(&out, sizeof a));
    CHECK(DO(cuMemsetD8_v2)(out, 0, sizeof a));
    for (int i = 0; i < 6; i++) {
        a[7] = i >= 3 && strcmp(what, "none") ? 3e38f : 1;
        b[7] = a[7];
        if (i >= 3 && !strcmp(what, "host"))
            b[7] = NAN;
        CHECK(DO(cuMemcpyHtoD_v2)(x, a, sizeof a));
        CHECK(DO(cuMemcpyHtoD_v2)(y, b, sizeof b));
        void *params[] = { &x, &y, in_place ? &x : &out, &n };
        CHECK(DO(cuLaunchKernel)(add, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    }
    CHECK(DO(cuCtxSynchronize)());
    CHECK(DO(cuMemcpyDtoH_v2)(a, in_place ? x : out, sizeof a));
    printf("%d\n", isfinite(a[7]));
    return 0;
}
