/* Loads a library from the PTX in a file, launches its kernel "scale" on a buffer, and says what it sees. */
#include "reach.h"

int main(int argc, char **argv)
{
    static char text[1 << 20];
    FILE *file = fopen(argc > 1 ? argv[1] : "", "rb");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    CUlibrary library;
    CUkernel kernel;
    CUcontext context;
    CUdeviceptr memory;
    int n = 16;
    void *parameters[] = { &memory, &n };
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuMemAlloc_v2)(&memory, 4096));
    CHECK(DO(cuLibraryLoadData)(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(DO(cuLibraryGetKernel)(&kernel, library, "scale"));
    CHECK(DO(cuLaunchKernel)((CUfunction)kernel, 4, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    CHECK(DO(cuCtxSynchronize)());
    printf("read %zu bytes, launched\n", bytes);
    return 0;
}
