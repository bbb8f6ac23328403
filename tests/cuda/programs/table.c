/* Linked with the driver: calls it directly, through a table that the linker fills in, and through a pointer. */
#include "reach.h"

static CUresult (*const table[])(unsigned) = { cuInit };
static CUresult (*variable)(CUdeviceptr *, size_t) = cuMemAlloc_v2;

int main(void)
{
    CUdeviceptr memory;
    CUcontext context;
    CHECK(table[0](0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(variable(&memory, 333));
    CHECK(cuMemFree_v2(memory));
    printf("same address: %d\n", table[0] == cuInit);
    return 0;
}
