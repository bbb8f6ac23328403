/* See capture.h.
 *
 * Memory is read through the stream of the launch, to pinned memory of ours that never goes: that waits for nothing that the launch itself
 * does not wait for, and a copy that is late does no harm. The runtime is asked whether it knows an address before it is copied from
 * (watch.c). No question is asked while an error stands that the program may still ask for (hooks.h). */
#define _GNU_SOURCE
#include "hip/capture.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- what the program registers and asks for ---- */

enum { VARIABLES = 1 << 12 };
static struct { _Atomic uintptr_t owner; const void *variable; const char *name; size_t bytes; } variables[VARIABLES];
static _Atomic unsigned variable_count;

/* Constructors of the program's register them, one after the other; names are constants of the compiler's. */
void gdx_hip_capture_registered(void **modules, const void *variable, const char *name, size_t bytes)
{
    unsigned at = GDX_UNLIKELY(gdx_capturing() & GDX_CAPTURE_LAUNCH) ? atomic_fetch_add(&variable_count, 1) : VARIABLES;
    if (at >= VARIABLES)
        return;
    variables[at].variable = variable;
    variables[at].name = name;
    variables[at].bytes = bytes;
    atomic_store(&variables[at].owner, (uintptr_t)modules);
}

/* The program may have written any of them (hipMemcpyToSymbol). False: the runtime does not say where one is. */
static bool meet_variables(uintptr_t owner)
{
    void *address = NULL;
    for (unsigned i = 0; owner && i < atomic_load(&variable_count) && i < VARIABLES; i++) {
        if (atomic_load(&variables[i].owner) != owner)
            continue;
        if (!gdx_hip_driver.hipGetSymbolAddress || gdx_hip_driver.hipGetSymbolAddress(&address, variables[i].variable) != hipSuccess)
            return false;
        gdx_capture_global(owner, GDX_HIP_WORD(address), variables[i].bytes, variables[i].name);
    }
    return true;
}

static void add_global(hipError_t status, const hipDeviceptr_t *result, const size_t *size, const void *owner, const char *name)
{
    if (GDX_UNLIKELY(gdx_capturing()) && status == hipSuccess && result && size)
        gdx_capture_global(GDX_HIP_WORD(owner), GDX_HIP_WORD(*result), *size, name);
}

/* A caller need not ask for the size: it is asked for here then. */
void gdx_hip_after_hipModuleGetGlobal(hipError_t status, hipDeviceptr_t *result, size_t *size, hipModule_t program, const char *name)
{
    hipDeviceptr_t same;
    size_t bytes = 0;
    if (GDX_UNLIKELY(gdx_capturing()) && status == hipSuccess && !size)
        status = gdx_hip_next.hipModuleGetGlobal(&same, &bytes, program, name);
    add_global(status, result, size ? size : &bytes, program, name);
}

void gdx_hip_after_hipLibraryGetGlobal(hipError_t status, hipDeviceptr_t *result, size_t *size, hipLibrary_t program, const char *name)
{
    hipDeviceptr_t same;
    size_t bytes = 0;
    if (GDX_UNLIKELY(gdx_capturing()) && status == hipSuccess && !size)
        status = gdx_hip_next.hipLibraryGetGlobal(&same, &bytes, program, name);
    add_global(status, result, size ? size : &bytes, program, name);
}

static void note_texture(hipError_t status, hipTextureObject_t texture, bool alive)
{
    if (status == hipSuccess && texture)
        gdx_capture_object(GDX_HIP_WORD(texture), "texture object", alive);
}

void gdx_hip_after_hipCreateTextureObject(hipError_t status, hipTextureObject_t *result, const hipResourceDesc *resource,
                                          const hipTextureDesc *texture, const hipResourceViewDesc *view)
{
    (void)resource, (void)texture, (void)view;
    note_texture(status, result ? *result : NULL, true);
}

void gdx_hip_after_hipTexObjectCreate(hipError_t status, hipTextureObject_t *result, const HIP_RESOURCE_DESC *resource,
                                      const HIP_TEXTURE_DESC *texture, const HIP_RESOURCE_VIEW_DESC *view)
{
    (void)resource, (void)texture, (void)view;
    note_texture(status, result ? *result : NULL, true);
}

void gdx_hip_after_hipDestroyTextureObject(hipError_t status, hipTextureObject_t texture)
{
    note_texture(status, texture, false);
}

void gdx_hip_after_hipTexObjectDestroy(hipError_t status, hipTextureObject_t texture)
{
    note_texture(status, texture, false);
}

/* ---- what a capture needs of the runtime ---- */

static const char *why_not(void)
{
    bool able = gdx_hip_driver.hipStreamQuery && gdx_hip_driver.hipHostMalloc && gdx_hip_driver.hipMemcpyAsync
        && gdx_hip_driver.hipMemGetAddressRange && gdx_hip_driver.hipPeekAtLastError && gdx_hip_driver.hipGetLastError;
    if (!able)
        return "this HIP runtime does not have the functions that reading memory needs";
    return gdx_hip_driver.hipPeekAtLastError() == hipSuccess ? NULL : "an error of an earlier call stands, and capturing would hide it";
}

/* Whatever our questions left: there was no error before. */
static void settle(void)
{
    if (gdx_hip_driver.hipPeekAtLastError() != hipSuccess)
        gdx_hip_driver.hipGetLastError();
}

static void put_device(char text[GDX_DEVICE_TEXT])
{
    int device = 0;
    if (gdx_hip_driver.hipGetDevice && gdx_hip_driver.hipGetDevice(&device) == hipSuccess)
        gdx_hip_describe(device, text, GDX_DEVICE_TEXT);
}

static const char *put_code(struct gdx_capture *to, uintptr_t kernel, struct gdx_function *row)
{
    size_t bytes = 0;
    char *code = gdx_hip_whole_image(gdx_hip_image_of_function((const void *)kernel), &bytes);
    if (!code)
        return "the code object of its module was not seen as a whole";
    gdx_capture_put(to, GDX_CAPTURE_CODE, GDX_CODE_OBJECT, 0, 0, code, bytes);
    munmap(code, bytes);
    return meet_variables(atomic_load(&row->owner)) ? NULL : "the runtime does not say where a variable of its module is";
}

static bool range_of(uint64_t address, uint64_t *base, uint64_t *bytes)
{
    hipDeviceptr_t start = NULL;
    size_t size = 0;
    bool found = gdx_hip_driver.hipMemGetAddressRange(&start, &size, (hipDeviceptr_t)(uintptr_t)address) == hipSuccess;
    *base = GDX_HIP_WORD(start);
    *bytes = size;
    return found;
}

static int query(uint64_t queue)
{
    return (int)gdx_hip_driver.hipStreamQuery((hipStream_t)(uintptr_t)queue);
}

static bool read_memory(void *to, uint64_t from, size_t bytes, uint64_t queue);

static const struct gdx_capture_api api = {
    .number = 2, .not_ready = hipErrorNotReady, .stream_captures = &gdx_hip_captures, .why_not = why_not, .settle = settle,
    .device = put_device, .put_code = put_code, .range = range_of, .read = read_memory, .query = query,
};

/* One launch of a process is captured, so one piece of memory is enough. */
static bool read_memory(void *to, uint64_t from, size_t bytes, uint64_t queue)
{
    static void *pinned;
    if (!pinned && gdx_hip_driver.hipHostMalloc(&pinned, GDX_CAPTURE_PIECE, 0) != hipSuccess)
        return false;
    hipError_t status = gdx_hip_driver.hipMemcpyAsync(pinned, (const void *)(uintptr_t)from, bytes, hipMemcpyDeviceToHost,
                                                      (hipStream_t)(uintptr_t)queue);
    if (status != hipSuccess || gdx_capture_wait(&api, queue) != hipSuccess)
        return false;
    memcpy(to, pinned, bytes);
    return true;
}

struct gdx_launch_capture *gdx_hip_capture_before(const struct gdx_wanted_launch *l, const struct gdx_layout *layout)
{
    struct gdx_wanted_launch launch = *l;
    launch.name = gdx_hip_name_of((const void *)l->kernel);
    return gdx_launch_capture_before(&api, &launch, layout);
}
