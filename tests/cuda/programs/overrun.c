/* Launches a kernel over some memory, twice with a wait between, and says where the memory is: in the file that
 * STAND_IN_MEMORY names. Ends with 3 if the last wait fails. */
#include "reach.h"

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr small, large;
    const char *place = getenv("STAND_IN_MEMORY");
    int count = 1024;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel _Z5scalePfi 8 4\n"));
    CHECK(DO(cuModuleGetFunction)(&function, module, "_Z5scalePfi"));
    CHECK(DO(cuMemAlloc_v2)(&large, 4096));
    CHECK(DO(cuMemAlloc_v2)(&small, 1000));
    void *first[] = { &large, &count }, *second[] = { &small, &count };
    CHECK(DO(cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, NULL, first, NULL));
    CHECK(DO(cuCtxSynchronize)());
    CHECK(DO(cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, NULL, second, NULL));
    FILE *out = place ? fopen(place, "w") : NULL;
    if (out) {
        fprintf(out, "0x%llx", (unsigned long long)small + 1000);
        fclose(out);
    }
    CUresult status = DO(cuCtxSynchronize)();
    printf("sync: %d\n", status);
    return status ? 3 : 0;
}
