/* Copies that the driver should refuse, by the driver API so that nothing checks them before it. The argument names one:
 * way (host and device exchanged), fill (a fill of heap memory), onto (device memory as the host's side), pitch, size (a
 * negative one), image FILE (loads a file as a module). Without one, all is well. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>

#define MUST(call)                                                    \
    do {                                                              \
        CUresult status_ = (call);                                    \
        if (status_ != CUDA_SUCCESS) {                                \
            std::printf("%s: %d\n", #call, (int)status_);             \
            std::exit(1);                                             \
        }                                                             \
    } while (0)

static void load(const char *path)
{
    static char data[1 << 20];
    CUmodule module;
    CUfunction function;
    FILE *file = std::fopen(path, "rb");
    if (!file || !std::fread(data, 1, sizeof data - 1, file))
        std::exit(2);
    MUST(cuModuleLoadData(&module, data));
    MUST(cuModuleGetFunction(&function, module, "_Z3onePi"));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const size_t bytes = 1 << 20;
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory, other;
    char *heap = (char *)std::calloc(1, bytes);
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAlloc(&memory, bytes));
    MUST(cuMemAlloc(&other, bytes));
    MUST(cuMemcpyHtoD(memory, heap, bytes));
    if (!std::strcmp(what, "way"))
        MUST(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)heap, (void *)(uintptr_t)memory, bytes));
    if (!std::strcmp(what, "fill"))
        MUST(cuMemsetD8((CUdeviceptr)(uintptr_t)heap, 0, bytes));
    if (!std::strcmp(what, "onto"))
        MUST(cuMemcpyDtoH((void *)(uintptr_t)other, memory, bytes));
    if (!std::strcmp(what, "size"))
        MUST(cuMemcpyHtoD(memory, heap, (size_t)-8));
    if (!std::strcmp(what, "image") && argc > 2)
        load(argv[2]);
    CUDA_MEMCPY2D box = {};
    box.srcMemoryType = CU_MEMORYTYPE_DEVICE, box.srcDevice = memory, box.srcPitch = 512;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE, box.dstDevice = other, box.dstPitch = std::strcmp(what, "pitch") ? 512 : 100;
    box.WidthInBytes = 400, box.Height = 16;
    MUST(cuMemcpy2D(&box));
    MUST(cuCtxSynchronize());
    std::printf("well\n");
    return 0;
}
