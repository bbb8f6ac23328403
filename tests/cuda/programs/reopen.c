/* Looks whether there is a driver, closes it, and opens it again later: detection code does this. */
#include "reach.h"
#include <sys/mman.h>

static CUresult once(int size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    __typeof__(&cuInit) init;
    __typeof__(&cuCtxCreate_v2) create;
    __typeof__(&cuMemAlloc_v2) alloc;
    CUcontext context;
    CUdeviceptr memory;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&create = dlsym(driver, "cuCtxCreate_v2");
    *(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
    CUresult status = init(0);
    status = status ? status : create(&context, 0, 0);
    status = status ? status : alloc(&memory, (size_t)size);
    dlclose(driver);
    return status;
}

int main(void)
{
    printf("first: %d\n", once(111));
    /* Take the place where it was, so that it comes back elsewhere. */
    mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("gone: %d\n", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == NULL);
    printf("second: %d\n", once(222));
    return 0;
}
