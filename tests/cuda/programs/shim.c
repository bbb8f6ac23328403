/* Another tool that stands in front of the driver: it counts allocations and passes them on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "cu.h"

static int allocations;

__attribute__((visibility("default"))) CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    CUresult (*next)(CUdeviceptr *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    allocations++;
    return next ? next(address, size) : CUDA_ERROR_UNKNOWN;
}

__attribute__((destructor)) static void tell(void)
{
    printf("shim saw %d allocations\n", allocations);
}
