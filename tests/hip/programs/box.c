/* A copy of a box and one of a rectangle, in the structures of HIP 5.2: `box LIBRARY`. */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

#define FIND(name) ((__typeof__(&name))dlsym(library, #name))

int main(int count, char **words)
{
    static char host[16 * 8 * 4];
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL, *memory;
    if (!library || FIND(hipMalloc)(&memory, 4096))
        return 2;
    HIP_MEMCPY3D box = { .srcXInBytes = 1, .srcY = 2, .srcMemoryType = hipMemoryTypeHost, .srcHost = host, .srcPitch = 16,
                         .srcHeight = 8, .dstXInBytes = 5, .dstMemoryType = hipMemoryTypeDevice, .dstDevice = memory,
                         .dstPitch = 64, .dstHeight = 4, .WidthInBytes = 4, .Height = 3, .Depth = 2 };
    hip_Memcpy2D flat = { .srcMemoryType = hipMemoryTypeHost, .srcHost = host, .srcPitch = 16, .dstY = 1,
                          .dstMemoryType = hipMemoryTypeDevice, .dstDevice = memory, .dstPitch = 64, .WidthInBytes = 4, .Height = 3 };
    int failed = FIND(hipDrvMemcpy3D)(&box) + FIND(hipMemcpyParam2D)(&flat);
    printf("%d failed\n", failed);
    return failed != 0;
}
