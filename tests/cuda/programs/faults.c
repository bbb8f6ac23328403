/* Twenty launches and a copy; the environment of the fake driver decides what goes wrong. Also hands over wild pointers
 * where told to. */
#include "reach.h"

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    char back[16];
    const char *what = argc > 1 ? argv[1] : "";
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel pair 4 4\n"));
    CHECK(DO(cuModuleGetFunction)(&function, module, "pair"));
    CHECK(DO(cuMemAlloc_v2)(&memory, 16));
    for (int i = 0; i < 20; i++) {
        int twice = 2 * i;
        void *params[] = { &i, &twice };
        CUresult status = DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
        if (status)
            printf("launch %d: %d\n", i, status);
    }
    if (!strcmp(what, "wild")) {
        int one = 1;
        void *params[] = { &one, (void *)0x10 };  /* the second value is nowhere */
        fflush(stdout);
        DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    }
    if (!strcmp(what, "stale")) {
        int one = 1;
        void *params[] = { &one, &one };
        CHECK(DO(cuModuleUnload)(module));
        printf("stale: %d\n", DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    }
    printf("copy: %d\n", DO(cuMemcpyDtoH_v2)(back, memory, sizeof back));
    printf("sync: %d\n", DO(cuCtxSynchronize)());
    printf("free: %d\n", DO(cuMemFree_v2)(memory));
    return 0;
}
