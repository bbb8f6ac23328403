/* Makes every query that the driver has about every kind of object, in every state that the objects go through, and prints what it
 * was told: status and value. Handles and addresses are printed by their names: they differ from run to run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu.h"

enum { NAMES = 64, DEVICE_ATTRIBUTES = 160, POINTER_ATTRIBUTES = 26, FUNCTION_ATTRIBUTES = 20, LIMITS = 10, ROOM = 256 };
static void *driver;
static struct { uint64_t first, bytes; const char *text; } names[NAMES];
static int count;

#define DO(name) ((__typeof__(&name))find(#name))
#define CAN(name) (dlsym(driver, #name) != NULL)
/* Status and value of a query that the driver has; `value` is full of a pattern before, which stays where nothing is written. */
#define ASK(name, ...)                                                      \
    do {                                                                    \
        if (CAN(name)) {                                                    \
            memset(room, 0x5a, sizeof room);                                \
            int status_ = DO(name)(__VA_ARGS__);                            \
            printf("  " #name ": %d", status_);                             \
            print_room();                                                   \
        }                                                                   \
    } while (0)
#define MUST(call)                                                          \
    do {                                                                    \
        int status_ = (call);                                               \
        if (status_) {                                                      \
            printf("%s: %d\n", #call, status_);                             \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static uint64_t room[ROOM / 8];

static void *find(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) {
        printf("no %s\n", name);
        exit(1);
    }
    return found;
}

static void name(const void *first, uint64_t bytes, const char *text)
{
    if (count < NAMES) {
        names[count].first = (uint64_t)(uintptr_t)first;
        names[count].bytes = bytes;
        names[count++].text = text;
    }
}

static void forget(const void *first)
{
    for (int i = 0; i < count; i++)
        if (names[i].first == (uint64_t)(uintptr_t)first)
            names[i].first = names[i].bytes = 0;
}

static void print_word(uint64_t word)
{
    for (int i = count - 1; i >= 0; i--)
        if (names[i].bytes && word - names[i].first < names[i].bytes) {
            printf(" <%s+%llu>", names[i].text, (unsigned long long)(word - names[i].first));
            return;
        }
    if (word >> 32 && word >> 48 == 0)
        printf(" <address>");
    else
        printf(" %llx", (unsigned long long)word);
}

static void print_room(void)
{
    int last = ROOM / 8;
    while (last && room[last - 1] == 0x5a5a5a5a5a5a5a5aull)
        last--;
    for (int i = 0; i < last; i++)
        print_word(room[i]);
    puts("");
}

/* ---- what is asked ---- */

static void about_device(const char *when)
{
    CUdevice device = 0;
    printf("device, %s\n", when);
    ASK(cuDriverGetVersion, (int *)room);
    ASK(cuDeviceGetCount, (int *)room);
    for (int ordinal = -1; ordinal < 3; ordinal++)
        ASK(cuDeviceGet, (CUdevice *)room, ordinal);
    ASK(cuDeviceTotalMem_v2, (size_t *)room, device);
    ASK(cuMemGetInfo_v2, (size_t *)room, (size_t *)room + 1);
    for (int i = 0; i < DEVICE_ATTRIBUTES; i++)
        ASK(cuDeviceGetAttribute, (int *)room, (CUdevice_attribute)i, device);
    memset(room, 0, sizeof room);
    printf("  name: %d %s\n", DO(cuDeviceGetName)((char *)room, ROOM, device), (char *)room);
    ASK(cuCtxGetCurrent, (CUcontext *)room);
    ASK(cuCtxGetDevice, (CUdevice *)room);
    if (CAN(cuCtxGetLimit))
        for (int i = 0; i < LIMITS; i++)
            ASK(cuCtxGetLimit, (size_t *)room, (CUlimit)i);
}

static void about_address(const char *what, CUdeviceptr address)
{
    CUpointer_attribute wanted[POINTER_ATTRIBUTES];
    void *values[POINTER_ATTRIBUTES];
    printf("%s\n", what);
    for (int i = 0; i < POINTER_ATTRIBUTES; i++) {
        wanted[i] = (CUpointer_attribute)i;
        values[i] = &room[i];
        printf("%d", i);
        ASK(cuPointerGetAttribute, room, wanted[i], address);
    }
    ASK(cuPointerGetAttributes, POINTER_ATTRIBUTES, wanted, values, address);
    ASK(cuMemGetAddressRange_v2, (CUdeviceptr *)room, (size_t *)room + 1, address);
    ASK(cuMemGetAddressRange_v2, NULL, (size_t *)room, address);
    ASK(cuMemGetAddressRange_v2, (CUdeviceptr *)room, NULL, address);
    ASK(cuMemHostGetFlags, (unsigned *)room, (void *)(uintptr_t)address);
    ASK(cuMemHostGetDevicePointer_v2, (CUdeviceptr *)room, (void *)(uintptr_t)address, 0);
}

/* What lies behind the last byte belongs to somebody else, or to nobody: what the driver says of it is not the same in two runs. */
static void about_memory(const char *what, const void *memory, size_t bytes)
{
    const size_t offsets[] = { 0, bytes / 2, bytes - 1 };
    char text[100];
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        snprintf(text, sizeof text, "%s, byte %zu of %zu", what, offsets[i], bytes);
        about_address(text, (CUdeviceptr)(uintptr_t)memory + offsets[i]);
    }
}

static void about_kernel(CUfunction kernel, CUkernel of_library)
{
    puts("kernel");
    for (int i = 0; i < FUNCTION_ATTRIBUTES; i++) {
        ASK(cuFuncGetAttribute, (int *)room, (CUfunction_attribute)i, kernel);
        ASK(cuKernelGetAttribute, (int *)room, (CUfunction_attribute)i, of_library, 0);
    }
    for (size_t i = 0; i < 6; i++) {
        ASK(cuFuncGetParamInfo, kernel, i, (size_t *)room, (size_t *)room + 1);
        ASK(cuKernelGetParamInfo, of_library, i, (size_t *)room, (size_t *)room + 1);
    }
    const char *text = NULL;
    if (CAN(cuFuncGetName))
        printf("  %d %s\n", DO(cuFuncGetName)(&text, kernel), text);
    if (CAN(cuKernelGetName))
        printf("  %d %s\n", DO(cuKernelGetName)(&text, of_library), text);
    ASK(cuFuncGetModule, (CUmodule *)room, kernel);
    ASK(cuKernelGetLibrary, (CUlibrary *)room, of_library);
    ASK(cuFuncIsLoaded, (CUfunctionLoadingState *)room, kernel);
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *)room, kernel, 128, 0);
}

static void about_stream(const char *what, CUstream stream, CUevent event)
{
    printf("stream %s\n", what);
    ASK(cuStreamQuery, stream);
    ASK(cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)room);
    ASK(cuStreamGetCtx, stream, (CUcontext *)room);
    ASK(cuEventQuery, event);
}

static void about_entries(void)
{
    static const char *const asked[] = { "cuMemAlloc", "cuMemFree", "cuLaunchKernel", "cuMemcpyHtoD", "cuGetProcAddress", "cuInit",
                                         "cuMadeTomorrow", "cuNoSuchThing", "", "cuGraphLaunch" };
    static const int versions[] = { 2000, 4000, 12000, 13000, 99000 };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
            for (unsigned flags = 0; flags < 3; flags++) {
                void *found = NULL;
                CUdriverProcAddressQueryResult result = 77;
                int status = DO(cuGetProcAddress_v2)(asked[i], &found, versions[v], flags, &result);
                printf("entry %s %d %u: %d %d %d", asked[i], versions[v], flags, status, (int)result, found != NULL);
                found = NULL;
                status = DO(cuGetProcAddress)(asked[i], &found, versions[v], flags);
                printf(" %d %d\n", status, found != NULL);
            }
    for (int error = -1; error < 1000; error++) {
        const char *text = NULL;
        int status = DO(cuGetErrorName)((CUresult)error, &text);
        printf("error %d: %d %s\n", error, status, text ? text : "none");
    }
}

static void memories(CUstream stream)
{
    static const size_t sizes[] = { 1, 100, 4000, 1 << 20 };
    CUdeviceptr made;
    void *host;
    size_t pitch = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        MUST(DO(cuMemAlloc_v2)(&made, sizes[i]));
        name((void *)(uintptr_t)made, sizes[i], "memory");
        about_memory("memory", (void *)(uintptr_t)made, sizes[i]);
        about_device("with memory");
        MUST(DO(cuMemFree_v2)(made));
        forget((void *)(uintptr_t)made);
    }
    about_device("after memory");
    MUST(DO(cuMemAllocPitch_v2)(&made, &pitch, 100, 7, 4));
    printf("pitch %zu\n", pitch);
    name((void *)(uintptr_t)made, pitch * 7, "rows");
    about_memory("rows", (void *)(uintptr_t)made, pitch * 7);
    MUST(DO(cuMemFree_v2)(made));
    forget((void *)(uintptr_t)made);
    MUST(DO(cuMemAllocManaged)(&made, 5000, 1));
    name((void *)(uintptr_t)made, 5000, "managed");
    about_memory("managed", (void *)(uintptr_t)made, 5000);
    MUST(DO(cuMemFree_v2)(made));
    forget((void *)(uintptr_t)made);
    MUST(DO(cuMemAllocAsync)(&made, 777, stream));
    name((void *)(uintptr_t)made, 777, "of a pool");
    about_memory("of a pool", (void *)(uintptr_t)made, 777);
    MUST(DO(cuMemFreeAsync)(made, stream));
    forget((void *)(uintptr_t)made);
    MUST(DO(cuMemHostAlloc)(&host, 3000, 0));
    name(host, 3000, "pinned");
    about_memory("pinned", host, 3000);
    MUST(DO(cuMemFreeHost)(host));
    forget(host);
    about_address("nothing", 0);
    about_address("a small number", 64);
    printf("no bytes: %d\n", DO(cuMemAlloc_v2)(&made, 0));
    printf("freed twice or never made: %d %d\n", DO(cuMemFree_v2)(8), DO(cuMemFree_v2)(0));
}

int main(void)
{
    static const char image[] = "kernel add 8 8 8 4\nkernel none\n";
    CUcontext context;
    CUmodule module;
    CUlibrary library;
    CUfunction kernel;
    CUkernel of_library;
    CUstream stream;
    CUevent event;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 1;
    about_entries();
    printf("too early: %d\n", DO(cuCtxGetCurrent)(&context));
    MUST(DO(cuInit)(0));
    about_device("without a context");
    MUST(DO(cuCtxCreate_v2)(&context, 0, 0));
    name(context, 1, "context");
    about_device("fresh");
    MUST(DO(cuModuleLoadData)(&module, image));
    MUST(DO(cuModuleGetFunction)(&kernel, module, "add"));
    MUST(DO(cuLibraryLoadData)(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    MUST(DO(cuLibraryGetKernel)(&of_library, library, "add"));
    name(module, 1, "module");
    name(kernel, 1, "kernel");
    name(library, 1, "library");
    name(of_library, 1, "kernel of a library");
    printf("no such kernel: %d\n", DO(cuModuleGetFunction)(&kernel, module, "subtract"));
    MUST(DO(cuModuleGetFunction)(&kernel, module, "add"));
    about_kernel(kernel, of_library);
    MUST(DO(cuStreamCreate)(&stream, 0));
    MUST(DO(cuEventCreate)(&event, 0));
    name(stream, 1, "stream");
    name(event, 1, "event");
    about_stream("fresh", stream, event);
    about_stream("default", NULL, event);
    CUdeviceptr a;
    int n = 4;
    MUST(DO(cuMemAlloc_v2)(&a, 4096));
    name((void *)(uintptr_t)a, 4096, "a");
    void *params[] = { &a, &a, &a, &n };
    printf("launched %d\n", DO(cuLaunchKernel)(kernel, 1, 1, 1, 4, 1, 1, 0, stream, params, NULL));
    MUST(DO(cuEventRecord)(event, stream));
    MUST(DO(cuStreamSynchronize)(stream));
    about_stream("used", stream, event);
    about_kernel(kernel, of_library);
    about_memory("used", (void *)(uintptr_t)a, 4096);
    MUST(DO(cuStreamBeginCapture_v2)(stream, 0));
    about_stream("in a capture", stream, event);
    CUgraph graph;
    MUST(DO(cuStreamEndCapture)(stream, &graph));
    about_stream("after a capture", stream, event);
    memories(stream);
    MUST(DO(cuMemFree_v2)(a));
    about_device("in the end");
    printf("destroyed %d %d %d\n", DO(cuEventDestroy_v2)(event), DO(cuStreamDestroy_v2)(stream), DO(cuCtxDestroy_v2)(context));
    return 0;
}
