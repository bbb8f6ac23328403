/* A FAKE libcuda.so.1. It runs nothing on any GPU: it exists so that the hooks can be tested on machines without one.
 *
 * Device memory is host memory, streams run at once, and a "module" is a text with one line per kernel:
 *
 *     kernel NAME SIZE SIZE ...         parameter sizes in bytes; offsets are padded to each size, up to 8
 *
 * A comment at the head of real PTX can say the same, so that one image serves here and on a device.
 * The kernel `add(float *a, float *b, float *out, int n)` adds, as does its C++ namesake; all others only fold their arguments into a checksum
 * that fakeChecksum() returns, so that a program can tell whether every byte of every launch arrived.
 *
 *     FAKE_CUDA_FAIL=cuLaunchKernel:3:700   the third cuLaunchKernel succeeds, and every later call fails with 700,
 *                                           as after a fault on a real device
 *                                           (710, an assertion, is also printed as a real driver prints it)
 *     FAKE_CUDA_REFUSE=cuMemAlloc_v2:2:2    the second cuMemAlloc_v2 fails with 2, once
 *     FAKE_CUDA_CRASH=cuMemFree_v2:1        the first cuMemFree_v2 dies by SIGSEGV inside the driver
 *     FAKE_CUDA_BUSY=1                      no stream is ever done, if asked
 *     FAKE_CUDA_STUCK=3                     what is put into the third stream that is made never ends: asked, it is not done,
 *                                           and whoever waits for it waits for ever
 *     FAKE_CUDA_CATCH=1                     a kernel that touches memory it may not touch ends there, and every later call
 *                                           fails with 700; without it the program dies by SIGSEGV in the launch
 *
 * Virtual memory management is real: addresses that are reserved and not mapped cannot be touched. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cu.h"

#define API __attribute__((visibility("default")))
enum { PARAMS = 512, THREADS_MAX = 1024, SHARED_MAX = 49152, NODES = 64, DRIVER = 13000 };
enum magic { CONTEXT = 0x10, MODULE, FUNCTION, KERNEL, STREAM, EVENT, GRAPH, NODE, EXEC, LIBRARY, DEAD };

struct function {
    enum magic magic;
    char name[128];
    int count;
    size_t offset[PARAMS], size[PARAMS], bytes;
    struct function *function;   /* of a kernel: the same as a function */
};
struct module { enum magic magic; int count; struct function functions[8], kernels[8]; };
struct context { enum magic magic; CUdevice device; };
struct node {
    enum magic magic;
    struct node *stands_for;     /* of a changed node in an executable: the one that the program names */
    CUDA_KERNEL_NODE_PARAMS params;
    void *pointers[PARAMS];
    char values[32768];
};
struct graph { enum magic magic; int count, lost, joined; struct node *nodes[NODES]; struct stream *streams[8]; };
struct stream { enum magic magic; struct graph *capture; bool stuck; };
struct event { enum magic magic; int polls; struct graph *capture; };

static _Atomic int sticky, started;
static _Atomic uint64_t checksum;
static struct context primary = { CONTEXT, 0 };
static _Thread_local struct context *current;
static struct stream per_thread = { STREAM, NULL, false };

/* ---- faults on demand ---- */

struct plan { char name[64]; int nth, code; _Atomic int seen; };
static struct plan fail_plan, refuse_plan, crash_plan;

static void read_plan(struct plan *plan, const char *variable)
{
    const char *text = getenv(variable);
    if (text)
        sscanf(text, "%63[^:]:%d:%d", plan->name, &plan->nth, &plan->code);
}

static void forked(void)
{
    started = 0;  /* as with a real driver, a child cannot use what its parent started */
}

__attribute__((constructor)) static void read_plans(void)
{
    pthread_atfork(NULL, NULL, forked);
    read_plan(&fail_plan, "FAKE_CUDA_FAIL");
    read_plan(&refuse_plan, "FAKE_CUDA_REFUSE");
    read_plan(&crash_plan, "FAKE_CUDA_CRASH");
}

static int due(struct plan *plan, const char *name)
{
    return plan->nth && !strcmp(plan->name, name) && atomic_fetch_add(&plan->seen, 1) + 1 == plan->nth;
}

static void tell_assertion(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&told))
        return;
    for (int thread = 0; thread < 4; thread++) {
        fprintf(stderr, "%s:%u: void %s", "src/pair.cu", 12, "pair(int, int)");
        fprintf(stderr, ": block: [%d,0,0], thread: [%d,0,0] Assertion `", 0, thread);
        fputs("i < n", stderr);
        fwrite("` failed.\n", 1, 10, stderr);
    }
}

static CUresult enter(const char *name)
{
    int now = sticky;
    if (now == CUDA_ERROR_ASSERT)
        tell_assertion();
    if (!started)
        return CUDA_ERROR_NOT_INITIALIZED;
    static volatile uintptr_t nowhere = 8;
    if (due(&crash_plan, name))
        *(volatile int *)nowhere = 0;
    if (due(&fail_plan, name))
        sticky = fail_plan.code;
    return due(&refuse_plan, name) ? refuse_plan.code : now;
}

#define ENTER(name)                         \
    do {                                    \
        CUresult fault_ = enter(#name);     \
        if (fault_ != CUDA_SUCCESS)         \
            return fault_;                  \
    } while (0)
/* What was put into which stream, for a test that asks (FAKE_CUDA_STREAMS=file). */
static void put_into(const char *what, const void *stream)
{
    const char *path = getenv("FAKE_CUDA_STREAMS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %p\n", what, stream);
    fclose(file);
}

#define NEED(condition, code) \
    do {                      \
        if (!(condition))     \
            return (code);    \
    } while (0)

/* ---- start, devices, contexts ---- */

API uint64_t fakeChecksum(void)
{
    return checksum;
}

API CUresult cuInit(unsigned int flags)
{
    NEED(flags == 0, CUDA_ERROR_INVALID_VALUE);
    started = 1;
    return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *version)
{
    *version = DRIVER;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count)
{
    ENTER(cuDeviceGetCount);
    *count = 1;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER(cuDeviceGet);
    NEED(ordinal == 0, CUDA_ERROR_INVALID_DEVICE);
    *device = 0;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)room, "Fake device for tests");
    return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = THREADS_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = SHARED_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: *value = 0; break;
    default: *value = (int)attribute;
    }
    return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(cuDevicePrimaryCtxRetain);
    NEED(device == 0, CUDA_ERROR_INVALID_DEVICE);
    *context = (CUcontext)&primary;
    return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER(cuDevicePrimaryCtxRelease_v2);
    (void)device;
    return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    ENTER(cuDevicePrimaryCtxReset_v2);
    (void)device;
    return CUDA_SUCCESS;
}

API CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    ENTER(cuCtxCreate_v2);
    (void)flags;
    struct context *made = calloc(1, sizeof *made);
    made->magic = CONTEXT;
    made->device = device;
    current = made;
    *context = (CUcontext)made;
    return CUDA_SUCCESS;
}

API CUresult cuCtxDestroy_v2(CUcontext context)
{
    ENTER(cuCtxDestroy_v2);
    if (current == (struct context *)context)
        current = NULL;
    return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext context)
{
    NEED(started, CUDA_ERROR_NOT_INITIALIZED);
    current = (struct context *)context;
    return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext *context)
{
    NEED(started, CUDA_ERROR_NOT_INITIALIZED);
    *context = (CUcontext)current;
    return CUDA_SUCCESS;
}

/* A stack of one: enough for a push and a pop around a call. */
static _Thread_local struct context *below;

API CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    NEED(context && ((struct context *)context)->magic == CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
    below = current;
    current = (struct context *)context;
    return CUDA_SUCCESS;
}

API CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = (CUcontext)current;
    current = below;
    return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice *device)
{
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    *device = current->device;
    return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize(void)
{
    ENTER(cuCtxSynchronize);
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize_v2(CUcontext context)
{
    ENTER(cuCtxSynchronize_v2);
    NEED(context || current, CUDA_ERROR_INVALID_CONTEXT);
    return CUDA_SUCCESS;
}

API CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = error ? "CUDA_ERROR_OF_THE_FAKE" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}

/* ---- modules and libraries ---- */

static size_t padded(size_t offset, size_t size)
{
    size_t to = size >= 8 ? 8 : size ? size : 1;
    return (offset + to - 1) / to * to;
}

static void read_function(struct function *made, enum magic magic, const char *line)
{
    int used = 0;
    made->magic = magic;
    sscanf(line, "kernel %127s%n", made->name, &used);
    line += used;
    for (unsigned size; made->count < PARAMS && sscanf(line, "%u%n", &size, &used) == 1; line += used) {
        made->offset[made->count] = padded(made->bytes, size);
        made->size[made->count] = size;
        made->bytes = made->offset[made->count++] + size;
    }
}

static struct module *read_module(enum magic magic, const char *image)
{
    struct module *made = calloc(1, sizeof *made);
    made->magic = magic;
    for (const char *line = image; made->count < 8 && (line = strstr(line, "kernel ")); line++) {
        const char *end = strchr(line, '\n');
        char text[4096] = "";
        memcpy(text, line, end && end - line < 4095 ? (size_t)(end - line) : strnlen(line, 4095));
        read_function(&made->functions[made->count], FUNCTION, text);
        read_function(&made->kernels[made->count], KERNEL, text);
        made->kernels[made->count].function = &made->functions[made->count];
        made->count++;
    }
    return made;
}

API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(cuModuleLoadData);
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    NEED(!strncmp(image, "kernel ", 7) || !strncmp(image, "// kernel ", 10), CUDA_ERROR_INVALID_IMAGE);
    *module = (CUmodule)read_module(MODULE, image);
    return CUDA_SUCCESS;
}

API CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    ENTER(cuModuleLoad);
    (void)module, (void)path;
    return CUDA_ERROR_FILE_NOT_FOUND;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                                void **values)
{
    ENTER(cuModuleLoadDataEx);
    char *log = NULL;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = values[i];
    if (strncmp(image, "kernel ", 7)) {
        if (log)
            strcpy(log, "fake error: not a kernel");
        return CUDA_ERROR_INVALID_PTX;
    }
    *module = (CUmodule)read_module(MODULE, image);
    return CUDA_SUCCESS;
}

API CUresult cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload);
    struct module *m = (struct module *)module;
    for (int i = 0; i < m->count; i++)
        m->functions[i].magic = DEAD;
    return CUDA_SUCCESS;
}

static struct function *look_up(struct function *all, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(cuModuleGetFunction);
    struct module *m = (struct module *)module;
    *function = (CUfunction)look_up(m->functions, m->count, name);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                               unsigned int count, CUlibraryOption *library_options, void **library_values,
                               unsigned int library_count)
{
    ENTER(cuLibraryLoadData);
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    *library = (CUlibrary)read_module(LIBRARY, code);
    return CUDA_SUCCESS;
}

API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    ENTER(cuLibraryGetKernel);
    struct module *m = (struct module *)library;
    *kernel = (CUkernel)look_up(m->kernels, m->count, name);
    return *kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    ENTER(cuKernelGetFunction);
    *function = (CUfunction)((struct function *)kernel)->function;
    return CUDA_SUCCESS;
}

static CUresult param_info(const struct function *f, size_t index, size_t *offset, size_t *size)
{
    NEED(index < (size_t)f->count, CUDA_ERROR_INVALID_VALUE);
    *offset = f->offset[index];
    *size = f->size[index];
    return CUDA_SUCCESS;
}

API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    return param_info((struct function *)function, index, offset, size);
}

API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    NEED(((struct function *)kernel)->magic == KERNEL, CUDA_ERROR_INVALID_HANDLE);
    return param_info((struct function *)kernel, index, offset, size);
}

API CUresult cuFuncGetName(const char **name, CUfunction function)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    *name = ((struct function *)function)->name;
    return CUDA_SUCCESS;
}

API CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    NEED(((struct function *)kernel)->magic == KERNEL, CUDA_ERROR_INVALID_HANDLE);
    *name = ((struct function *)kernel)->name;
    return CUDA_SUCCESS;
}

API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    *value = 100 + (int)attribute;
    return CUDA_SUCCESS;
}

API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    NEED(((struct function *)kernel)->magic == KERNEL && device == 0, CUDA_ERROR_INVALID_HANDLE);
    *value = 200 + (int)attribute;
    return CUDA_SUCCESS;
}

/* ---- virtual memory: none of it belongs to a context, so that a fault of the device does not show here ---- */

enum { GRANULE = 2 << 20, RESERVED = 1 << 15, MEMORY = 1 << 30 };
struct reserved { char *at; size_t size, mapped_at, mapped; struct physical *physical; };
struct physical { size_t size; int references; };
static struct reserved ranges[RESERVED];
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t memory_in_use;

#define PLAN(name)                                             \
    do {                                                       \
        NEED(started, CUDA_ERROR_NOT_INITIALIZED);             \
        NEED(!due(&refuse_plan, #name), refuse_plan.code);     \
    } while (0)
static struct reserved *range_at(const char *at)
{
    for (int i = 0; i < RESERVED; i++)
        if (ranges[i].at && at >= ranges[i].at && at < ranges[i].at + ranges[i].size)
            return &ranges[i];
    return NULL;
}

static struct reserved *range_of(CUdeviceptr address)
{
    pthread_mutex_lock(&ranges_lock);
    struct reserved *found = range_at((const char *)(uintptr_t)address);
    pthread_mutex_unlock(&ranges_lock);
    return found;
}

API CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                           CUmemAllocationGranularity_flags option)
{
    PLAN(cuMemGetAllocationGranularity);
    (void)option;
    NEED(properties->type == 1 && properties->location.type == 1, CUDA_ERROR_INVALID_VALUE);
    *granularity = GRANULE;
    return CUDA_SUCCESS;
}

API CUresult cuMemAddressReserve(CUdeviceptr *result, size_t size, size_t alignment, CUdeviceptr wanted,
                                 unsigned long long flags)
{
    PLAN(cuMemAddressReserve);
    NEED(size && size % GRANULE == 0 && !alignment && !wanted && !flags, CUDA_ERROR_INVALID_VALUE);
    char *at = mmap(NULL, size + GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    char *even = (char *)(((uintptr_t)at + GRANULE - 1) / GRANULE * GRANULE);
    if (even > at)
        munmap(at, (size_t)(even - at));
    munmap(even + size, GRANULE - (size_t)(even - at));
    pthread_mutex_lock(&ranges_lock);
    int i = 0;
    while (i < RESERVED && ranges[i].at)
        i++;
    if (i < RESERVED)
        ranges[i] = (struct reserved){ even, size, 0, 0, NULL };
    pthread_mutex_unlock(&ranges_lock);
    *result = (CUdeviceptr)(uintptr_t)even;
    return i < RESERVED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    PLAN(cuMemAddressFree);
    struct reserved *range = range_of(address);
    NEED(range && (uintptr_t)range->at == address && range->size == size && !range->physical, CUDA_ERROR_INVALID_VALUE);
    munmap(range->at, size);
    range->at = NULL;
    return CUDA_SUCCESS;
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *result, size_t size, const CUmemAllocationProp *properties,
                         unsigned long long flags)
{
    PLAN(cuMemCreate);
    (void)flags;
    NEED(size && size % GRANULE == 0 && properties->type == 1, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&ranges_lock);
    bool room = memory_in_use + size <= MEMORY;
    memory_in_use += room ? size : 0;
    pthread_mutex_unlock(&ranges_lock);
    NEED(room, CUDA_ERROR_OUT_OF_MEMORY);
    struct physical *made = calloc(1, sizeof *made);
    *made = (struct physical){ size, 1 };
    *result = (CUmemGenericAllocationHandle)(uintptr_t)made;
    return CUDA_SUCCESS;
}

static void drop(struct physical *physical)
{
    pthread_mutex_lock(&ranges_lock);
    bool last = --physical->references == 0;
    memory_in_use -= last ? physical->size : 0;
    pthread_mutex_unlock(&ranges_lock);
    if (last)
        free(physical);
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    PLAN(cuMemRelease);
    drop((struct physical *)(uintptr_t)handle);
    return CUDA_SUCCESS;
}

API CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    PLAN(cuMemMap);
    (void)flags;
    struct reserved *range = range_of(address);
    struct physical *physical = (struct physical *)(uintptr_t)handle;
    NEED(range && !range->physical && !offset && physical->size == size, CUDA_ERROR_INVALID_VALUE);
    size_t at = (size_t)(address - (uintptr_t)range->at);
    NEED(at + size <= range->size, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&ranges_lock);
    physical->references++;
    range->mapped_at = at;
    range->mapped = size;
    range->physical = physical;
    pthread_mutex_unlock(&ranges_lock);
    return CUDA_SUCCESS;
}

API CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
{
    PLAN(cuMemSetAccess);
    struct reserved *range = range_of(address);
    NEED(range && range->physical && count && access->flags == 3, CUDA_ERROR_INVALID_VALUE);
    NEED(!mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE), CUDA_ERROR_OPERATING_SYSTEM);
    return CUDA_SUCCESS;
}

API CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    PLAN(cuMemUnmap);
    struct reserved *range = range_of(address);
    NEED(range && range->physical && range->mapped == size, CUDA_ERROR_INVALID_VALUE);
    void *at = (void *)(uintptr_t)address;
    madvise(at, size, MADV_DONTNEED);
    mprotect(at, size, PROT_NONE);
    struct physical *physical = range->physical;
    pthread_mutex_lock(&ranges_lock);
    range->physical = NULL;
    pthread_mutex_unlock(&ranges_lock);
    drop(physical);
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

/* What was handed out and not yet taken back. Like a real driver's, a free takes only the beginning of an allocation of
 * its own kind, and a copy only device memory where it says so; pinned host memory can be either. */
enum family { ORDINARY, DEVICE, PINNED };
struct memory { uintptr_t first; size_t size; enum family family; };
static struct memory memories[1024];
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

static struct memory *memory_at(uintptr_t address)
{
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i].family && address - memories[i].first < memories[i].size)
            return &memories[i];
    return NULL;
}

static enum family family_of(const void *address)
{
    pthread_mutex_lock(&memory_lock);
    struct memory *found = memory_at((uintptr_t)address);
    enum family family = found ? found->family : ORDINARY;
    pthread_mutex_unlock(&memory_lock);
    return range_of((CUdeviceptr)(uintptr_t)address) ? DEVICE : family;
}

static void *hand_out(size_t size, enum family family)
{
    void *made = NULL;
    pthread_mutex_lock(&memory_lock);
    for (size_t i = 0; !made && i < sizeof memories / sizeof *memories; i++)
        if (!memories[i].family) {
            made = calloc(1, size);
            memories[i] = (struct memory){ (uintptr_t)made, size, family };
        }
    pthread_mutex_unlock(&memory_lock);
    return made;
}

static CUresult take_back(uintptr_t address, enum family family)
{
    if (!address)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&memory_lock);
    struct memory *found = memory_at(address);
    int good = found && found->family == family && found->first == address;
    if (good)
        found->family = ORDINARY;
    pthread_mutex_unlock(&memory_lock);
    if (good)
        free((void *)address);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    ENTER(cuMemAlloc_v2);
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    NEED(size, CUDA_ERROR_INVALID_VALUE);
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(cuMemFree_v2);
    return take_back((uintptr_t)address, DEVICE);
}

API CUresult cuMemHostAlloc(void **address, size_t size, unsigned int flags)
{
    ENTER(cuMemHostAlloc);
    (void)flags;
    *address = hand_out(size, PINNED);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFreeHost(void *address)
{
    ENTER(cuMemFreeHost);
    return take_back((uintptr_t)address, PINNED);
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
    ENTER(cuMemAllocAsync);
    (void)stream;
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    ENTER(cuMemFreeAsync);
    (void)stream;
    return take_back((uintptr_t)address, DEVICE);
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    ENTER(cuMemAllocPitch_v2);
    NEED(width && height && element, CUDA_ERROR_INVALID_VALUE);
    *pitch = (width + 511) / 512 * 512;
    *address = (CUdeviceptr)(uintptr_t)hand_out(height * *pitch, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags)
{
    ENTER(cuMemAllocManaged);
    NEED(size && flags, CUDA_ERROR_INVALID_VALUE);
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Answers for mappings only. */
API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    ENTER(cuMemGetAddressRange_v2);
    struct reserved *range = range_of(address);
    NEED(range && range->physical, CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = (CUdeviceptr)(uintptr_t)range->at + range->mapped_at;
    if (size)
        *size = range->mapped;
    return CUDA_SUCCESS;
}

API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    ENTER(cuIpcGetMemHandle);
    NEED(!range_of(address), CUDA_ERROR_INVALID_VALUE);
    memset(handle, 1, sizeof *handle);
    return CUDA_SUCCESS;
}

API CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    ENTER(cuMemGetInfo_v2);
    *left = *total = (size_t)1 << 30;
    return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr dst, const void *src, size_t size)
{
    void *to = (void *)(uintptr_t)dst;
    NEED(family_of(to) != ORDINARY && family_of(src) != DEVICE, CUDA_ERROR_INVALID_VALUE);
    memcpy(to, src, size);
    return CUDA_SUCCESS;
}

static CUresult to_host(void *dst, CUdeviceptr src, size_t size)
{
    const void *from = (const void *)(uintptr_t)src;
    NEED(family_of(from) != ORDINARY && family_of(dst) != DEVICE, CUDA_ERROR_INVALID_VALUE);
    memcpy(dst, from, size);
    return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
    ENTER(cuMemcpyHtoD_v2);
    return to_device(dst, src, size);
}

API CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst, const void *src, size_t size)
{
    ENTER(cuMemcpyHtoD_v2_ptds);
    return to_device(dst, src, size);
}

API CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
    ENTER(cuMemcpyDtoH_v2);
    return to_host(dst, src, size);
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    ENTER(cuMemcpyDtoD_v2);
    memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
    return CUDA_SUCCESS;
}

static bool stands_still(CUstream stream);
static void wait_for_ever(void);

/* Into pageable memory it returns when it is done. */
API CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
    ENTER(cuMemcpyDtoHAsync_v2);
    if (!stands_still(stream))
        return to_host(dst, src, size);
    if (family_of(dst) == ORDINARY)
        wait_for_ever();
    return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
    ENTER(cuMemcpyHtoDAsync_v2);
    put_into("copy", stream);
    return to_device(dst, src, size);
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *box)
{
    ENTER(cuMemcpy2D_v2);
    char *to = (char *)(uintptr_t)box->dst.device + box->dst.y * box->dst.pitch + box->dst.x;
    const char *from = (const char *)box->src.host + box->src.y * box->src.pitch + box->src.x;
    NEED(box->src.type == CU_MEMORYTYPE_HOST && box->dst.type == CU_MEMORYTYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
    NEED(box->src.pitch >= box->width + box->src.x, CUDA_ERROR_INVALID_VALUE);
    NEED(box->dst.pitch >= box->width + box->dst.x, CUDA_ERROR_INVALID_VALUE);
    for (size_t row = 0; row < box->height; row++)
        memcpy(to + row * box->dst.pitch, from + row * box->src.pitch, box->width);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
    ENTER(cuMemsetD8_v2);
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY, CUDA_ERROR_INVALID_VALUE);
    memset((void *)(uintptr_t)dst, value, count);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    ENTER(cuMemsetD8Async);
    (void)stream;
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY, CUDA_ERROR_INVALID_VALUE);
    memset((void *)(uintptr_t)dst, value, count);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    ENTER(cuMemsetD16Async);
    (void)stream;
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY && dst % 2 == 0, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        ((unsigned short *)(uintptr_t)dst)[i] = value;
    return CUDA_SUCCESS;
}

API CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    ENTER(cuPointerGetAttribute);
    (void)value, (void)attribute, (void)address;
    return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                    CUdeviceptr address)
{
    ENTER(cuPointerGetAttributes);
    struct reserved *range = range_of(address);
    for (unsigned i = 0; i < count; i++)
        *(uint64_t *)values[i] = attributes[i] == 12 && range ? range->mapped : 0;
    return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

static struct stream *stream_of(CUstream stream)
{
    if ((uintptr_t)stream == CU_STREAM_PER_THREAD)
        return &per_thread;
    return (uintptr_t)stream > CU_STREAM_PER_THREAD ? (struct stream *)stream : NULL;
}

static bool stands_still(CUstream stream)
{
    struct stream *s = stream_of(stream);
    return s && s->stuck;
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

API CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    static _Atomic int count;
    ENTER(cuStreamCreate);
    (void)flags;
    struct stream *made = calloc(1, sizeof *made);
    const char *stuck = getenv("FAKE_CUDA_STUCK");
    made->magic = STREAM;
    made->stuck = ++count == (stuck ? atoi(stuck) : 0);
    *stream = (CUstream)made;
    return CUDA_SUCCESS;
}

API CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(cuStreamDestroy_v2);
    free(stream);
    return CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(cuStreamSynchronize);
    struct stream *s = stream_of(stream);
    if (stands_still(stream))
        wait_for_ever();
    if (s && s->capture)
        s->capture->lost = 1;
    return s && s->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

API CUresult cuStreamQuery(CUstream stream)
{
    ENTER(cuStreamQuery);
    return getenv("FAKE_CUDA_BUSY") || stands_still(stream) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER(cuEventCreate);
    (void)flags;
    struct event *made = calloc(1, sizeof *made);
    made->magic = EVENT;
    *event = (CUevent)made;
    return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(cuEventDestroy_v2);
    free(event);
    return CUDA_SUCCESS;
}

API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(cuEventRecord);
    put_into("event", stream);
    struct stream *s = stream_of(stream);
    ((struct event *)event)->capture = s ? s->capture : NULL;
    ((struct event *)event)->polls = 3;
    return CUDA_SUCCESS;
}

/* Not ready three times after each record. */
API CUresult cuEventQuery(CUevent event)
{
    ENTER(cuEventQuery);
    return ((struct event *)event)->polls-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(CUevent event)
{
    ENTER(cuEventSynchronize);
    (void)event;
    return CUDA_SUCCESS;
}

/* A stream that waits for an event of a capture takes part in it from here on. */
API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER(cuStreamWaitEvent);
    put_into("wait", stream);
    (void)flags;
    struct stream *s = stream_of(stream);
    struct graph *capture = ((struct event *)event)->capture;
    if (s && capture && !s->capture) {
        s->capture = capture;
        capture->streams[capture->joined++] = s;
    }
    return CUDA_SUCCESS;
}

API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    NEED(stream_of(stream) && stream_of(stream)->magic == STREAM, CUDA_ERROR_INVALID_HANDLE);
    *context = (CUcontext)current;
    return CUDA_SUCCESS;
}

API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct stream *s = stream_of(stream);
    *status = s && s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* ---- launches ---- */

static void fold(const void *data, size_t bytes)
{
    uint64_t sum = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
    atomic_fetch_add(&checksum, sum);
}

/* The values of a launch as one block, from either form. */
static CUresult gather(const struct function *f, void **params, void **extra, char *block)
{
    if (params) {
        for (int i = 0; i < f->count; i++)
            memcpy(block + f->offset[i], params[i], f->size[i]);
        return CUDA_SUCCESS;
    }
    NEED(extra || !f->count, CUDA_ERROR_INVALID_VALUE);
    const char *buffer = NULL;
    size_t size = 0;
    for (; extra && extra[0]; extra += 2) {
        if ((uintptr_t)extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        if ((uintptr_t)extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)extra[1];
    }
    NEED(size == f->bytes, CUDA_ERROR_INVALID_VALUE);
    if (size)
        memcpy(block, buffer, size);
    return CUDA_SUCCESS;
}

static _Thread_local sigjmp_buf outside;

static void touched(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

static void add(const struct function *f, const char *block)
{
    float *a, *b, *out;
    int n;
    struct sigaction catch = { .sa_handler = touched }, before;
    bool caught = getenv("FAKE_CUDA_CATCH") != NULL;
    memcpy(&a, block + f->offset[0], 8);
    memcpy(&b, block + f->offset[1], 8);
    memcpy(&out, block + f->offset[2], 8);
    memcpy(&n, block + f->offset[3], 4);
    if (caught)
        sigaction(SIGSEGV, &catch, &before);
    if (caught && sigsetjmp(outside, 1))
        sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    else
        for (volatile int i = 0; i < n; i++)
            out[i] = a[i] + b[i];
    if (caught)
        sigaction(SIGSEGV, &before, NULL);
}

/* poke(float *data, long at, float value): one float. */
static void poke(const struct function *f, const char *block)
{
    float *data;
    int64_t at;
    memcpy(&data, block + f->offset[0], 8);
    memcpy(&at, block + f->offset[1], 8);
    memcpy(data + at, block + f->offset[2], 4);
}

/* follow(float **table, long at, float value): one float, where an address in memory says. */
static void follow(const struct function *f, const char *block)
{
    float **table;
    int64_t at;
    memcpy(&table, block + f->offset[0], 8);
    memcpy(&at, block + f->offset[1], 8);
    memcpy(*table + at, block + f->offset[2], 4);
}

static void execute(const struct function *f, const char *block)
{
    if (!strcmp(f->name, "add") || !strncmp(f->name, "_Z3add", 6))
        add(f, block);
    else if (!strcmp(f->name, "poke"))
        poke(f, block);
    else if (!strcmp(f->name, "follow"))
        follow(f, block);
    else
        fold(block, f->bytes);
}

static struct node *make_node(const struct function *f, CUDA_KERNEL_NODE_PARAMS params, const char *block)
{
    struct node *made = calloc(1, sizeof *made);
    made->magic = NODE;
    made->stands_for = made;
    memcpy(made->values, block, f->bytes);
    for (int i = 0; i < f->count; i++)
        made->pointers[i] = made->values + f->offset[i];
    made->params = params;
    made->params.params = made->pointers;
    made->params.extra = NULL;
    return made;
}

static CUresult launch(CUfunction function, const unsigned *dims, unsigned shared, CUstream stream, void **params,
                       void **extra)
{
    struct function *f = (struct function *)function;
    struct stream *s = stream_of(stream);
    char block[32768];
    NEED(f && (f->magic == FUNCTION || f->magic == KERNEL), CUDA_ERROR_INVALID_HANDLE);
    NEED(dims[0] && dims[3] && dims[3] * dims[4] * dims[5] <= THREADS_MAX, CUDA_ERROR_INVALID_VALUE);
    NEED(shared <= SHARED_MAX, CUDA_ERROR_INVALID_VALUE);
    memset(block, 0, f->bytes);
    CUresult status = gather(f, params, extra, block);
    if (status)
        return status;
    put_into("launch", stream);
    if (s && s->capture) {
        CUDA_KERNEL_NODE_PARAMS p = { .func = function, .shared_bytes = shared };
        memcpy(&p.grid_x, dims, 6 * sizeof *dims);
        s->capture->nodes[s->capture->count++] = make_node(f, p, block);
    } else {
        execute(f, block);
    }
    return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                            unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                            void **extra)
{
    ENTER(cuLaunchKernel);
    return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, extra);
}

API CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                 unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                                 void **extra)
{
    ENTER(cuLaunchKernel_ptsz);
    return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, extra);
}

API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                       unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
                                       void **params)
{
    ENTER(cuLaunchCooperativeKernel);
    return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, NULL);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    ENTER(cuLaunchKernelEx);
    return launch(f, &c->grid_x, c->shared_bytes, c->queue, params, extra);
}

API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    ENTER(cuLaunchHostFunc);
    put_into("function", stream);
    function(data);
    return CUDA_SUCCESS;
}

/* ---- graphs ---- */

API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture_v2);
    (void)mode;
    struct stream *s = stream_of(stream);
    NEED(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    s->capture = calloc(1, sizeof *s->capture);
    s->capture->magic = GRAPH;
    return CUDA_SUCCESS;
}

API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    ENTER(cuStreamEndCapture);
    struct stream *s = stream_of(stream);
    NEED(s && s->capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    int lost = s->capture->lost;
    for (int i = 0; i < s->capture->joined; i++)
        s->capture->streams[i]->capture = NULL;
    *graph = lost ? NULL : (CUgraph)s->capture;
    s->capture = NULL;
    return lost ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

API CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    ENTER(cuGraphCreate);
    (void)flags;
    struct graph *made = calloc(1, sizeof *made);
    made->magic = GRAPH;
    *graph = (CUgraph)made;
    return CUDA_SUCCESS;
}

API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS *params)
{
    ENTER(cuGraphAddKernelNode_v2);
    (void)after, (void)count;
    struct graph *g = (struct graph *)graph;
    struct function *f = (struct function *)(params->func ? params->func : (CUfunction)params->kern);
    char block[32768] = { 0 };
    gather(f, params->params, params->extra, block);
    g->nodes[g->count] = make_node(f, *params, block);
    *node = (CUgraphNode)g->nodes[g->count++];
    return CUDA_SUCCESS;
}

API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct graph *g = (struct graph *)graph;
    for (int i = 0; nodes && i < g->count; i++)
        nodes[i] = (CUgraphNode)g->nodes[i];
    *count = (size_t)g->count;
    return CUDA_SUCCESS;
}

API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    (void)node;
    *type = CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
}

API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    *params = ((struct node *)node)->params;
    return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    ENTER(cuGraphInstantiateWithFlags);
    (void)flags;
    struct graph *made = malloc(sizeof *made);
    memcpy(made, graph, sizeof *made);
    made->magic = EXEC;
    *exec = (CUgraphExec)made;
    return CUDA_SUCCESS;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    ENTER(cuGraphExecKernelNodeSetParams_v2);
    struct graph *g = (struct graph *)exec;
    struct function *f = (struct function *)params->func;
    char block[32768] = { 0 };
    gather(f, params->params, params->extra, block);
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->stands_for == (struct node *)node) {
            g->nodes[i] = make_node(f, *params, block);
            g->nodes[i]->stands_for = (struct node *)node;
        }
    return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER(cuGraphLaunch);
    (void)stream;
    struct graph *g = (struct graph *)exec;
    for (int i = 0; i < g->count; i++)
        execute((struct function *)g->nodes[i]->params.func, g->nodes[i]->values);
    return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    ENTER(cuGraphExecDestroy);
    free(exec);
    return CUDA_SUCCESS;
}

API CUresult cuGraphDestroy(CUgraph graph)
{
    ENTER(cuGraphDestroy);
    free(graph);
    return CUDA_SUCCESS;
}

/* ---- cuGetProcAddress ---- */

static CUresult a_new_function(void)
{
    return CUDA_SUCCESS;  /* stands for what a newer driver has and the recorder does not know */
}

struct entry { const char *symbol; int since; cuuint64_t per_thread; void *function; };
#define ENTRY(symbol, since, function) { symbol, since, 0, (void *)function }
#define ENTRY_PER_THREAD(symbol, since, function) { symbol, since, 2, (void *)function }
static const struct entry entries[];

static void *answer(const char *symbol, int version, cuuint64_t flags)
{
    void *best = NULL;
    int since = -1;
    cuuint64_t kind = 0;
    for (const struct entry *e = entries; e->symbol; e++) {
        if (strcmp(e->symbol, symbol) || e->since > version || (e->per_thread && !(flags & 2)))
            continue;
        if (e->per_thread > kind || (e->per_thread == kind && e->since > since)) {
            best = e->function;
            since = e->since;
            kind = e->per_thread;
        }
    }
    return best;
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *found)
{
    NEED(symbol && function, CUDA_ERROR_INVALID_VALUE);
    *function = answer(symbol, version, flags);
    if (found)
        *found = *function ? 0 : 1;
    return CUDA_SUCCESS;
}

API CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    NEED(symbol && function, CUDA_ERROR_INVALID_VALUE);
    *function = answer(symbol, version, flags);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static const struct entry entries[] = {
    ENTRY("cuInit", 2000, cuInit),
    ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion),
    ENTRY("cuDeviceGetCount", 2000, cuDeviceGetCount),
    ENTRY("cuDeviceGet", 2000, cuDeviceGet),
    ENTRY("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
    ENTRY("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2),
    ENTRY("cuCtxCreate", 3020, cuCtxCreate_v2),
    ENTRY("cuCtxDestroy", 4000, cuCtxDestroy_v2),
    ENTRY("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
    ENTRY("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
    ENTRY("cuCtxSynchronize", 2000, cuCtxSynchronize),
    ENTRY("cuModuleLoadData", 2000, cuModuleLoadData),
    ENTRY("cuModuleLoad", 2000, cuModuleLoad),
    ENTRY("cuModuleLoadDataEx", 2010, cuModuleLoadDataEx),
    ENTRY("cuModuleUnload", 2000, cuModuleUnload),
    ENTRY("cuModuleGetFunction", 2000, cuModuleGetFunction),
    ENTRY("cuLibraryLoadData", 12000, cuLibraryLoadData),
    ENTRY("cuLibraryGetKernel", 12000, cuLibraryGetKernel),
    ENTRY("cuKernelGetFunction", 12000, cuKernelGetFunction),
    ENTRY("cuMemAlloc", 3020, cuMemAlloc_v2),
    ENTRY("cuMemFree", 3020, cuMemFree_v2),
    ENTRY("cuMemAllocAsync", 11020, cuMemAllocAsync),
    ENTRY("cuMemFreeAsync", 11020, cuMemFreeAsync),
    ENTRY("cuMemHostAlloc", 2020, cuMemHostAlloc),
    ENTRY("cuMemFreeHost", 2000, cuMemFreeHost),
    ENTRY("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
    ENTRY("cuMemAllocManaged", 6000, cuMemAllocManaged),
    ENTRY("cuMemGetAddressRange", 3020, cuMemGetAddressRange_v2),
    ENTRY("cuPointerGetAttributes", 7000, cuPointerGetAttributes),
    ENTRY("cuIpcGetMemHandle", 4010, cuIpcGetMemHandle),
    ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2),
    ENTRY("cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2),
    ENTRY_PER_THREAD("cuMemcpyHtoD", 7000, cuMemcpyHtoD_v2_ptds),
    ENTRY("cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2),
    ENTRY("cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2),
    ENTRY("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2),
    ENTRY("cuMemcpy2D", 3020, cuMemcpy2D_v2),
    ENTRY("cuMemsetD8", 3020, cuMemsetD8_v2),
    ENTRY("cuPointerGetAttribute", 4000, cuPointerGetAttribute),
    ENTRY("cuStreamCreate", 2000, cuStreamCreate),
    ENTRY("cuStreamDestroy", 4000, cuStreamDestroy_v2),
    ENTRY("cuStreamSynchronize", 2000, cuStreamSynchronize),
    ENTRY("cuMemsetD8Async", 3020, cuMemsetD8Async),
    ENTRY("cuMemsetD16Async", 3020, cuMemsetD16Async),
    ENTRY("cuStreamQuery", 2000, cuStreamQuery),
    ENTRY("cuStreamWaitEvent", 3020, cuStreamWaitEvent),
    ENTRY("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2),
    ENTRY("cuStreamEndCapture", 10000, cuStreamEndCapture),
    ENTRY("cuStreamIsCapturing", 10000, cuStreamIsCapturing),
    ENTRY("cuEventCreate", 2000, cuEventCreate),
    ENTRY("cuEventDestroy", 4000, cuEventDestroy_v2),
    ENTRY("cuEventRecord", 2000, cuEventRecord),
    ENTRY("cuEventQuery", 2000, cuEventQuery),
    ENTRY("cuEventSynchronize", 2000, cuEventSynchronize),
    ENTRY("cuLaunchKernel", 4000, cuLaunchKernel),
    ENTRY_PER_THREAD("cuLaunchKernel", 7000, cuLaunchKernel_ptsz),
    ENTRY("cuLaunchKernelEx", 11060, cuLaunchKernelEx),
    ENTRY("cuLaunchCooperativeKernel", 9000, cuLaunchCooperativeKernel),
    ENTRY("cuLaunchHostFunc", 10000, cuLaunchHostFunc),
    ENTRY("cuGraphCreate", 10000, cuGraphCreate),
    ENTRY("cuGraphAddKernelNode", 12000, cuGraphAddKernelNode_v2),
    ENTRY("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags),
    ENTRY("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2),
    ENTRY("cuGraphLaunch", 10000, cuGraphLaunch),
    ENTRY("cuGraphExecDestroy", 10000, cuGraphExecDestroy),
    ENTRY("cuGraphDestroy", 10000, cuGraphDestroy),
    ENTRY("cuGetErrorName", 6000, cuGetErrorName),
    ENTRY("cuGetProcAddress", 11030, cuGetProcAddress),
    ENTRY("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    ENTRY("cuMadeTomorrow", 13000, a_new_function),
    { NULL, 0, 0, NULL },
};
