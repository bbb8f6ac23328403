/* How the recorder gets into HIP programs: driver/lookup.c says how a program comes to call our wrappers, and here is what it
 * needs to know of HIP. Two things differ from CUDA (docs/decisions/013-hip-way-in.md):
 *
 *   - the compiler makes constructors that register the program's kernels with the runtime. They may run before ours, so
 *     these few names are exported, and bound to us by the dynamic loader. Nobody looks for them to find out whether
 *     there is a runtime, and nobody keeps variables of these names. References are versioned (hip_4.2); a library
 *     without versions serves them all
 *   - hipGetProcAddress (since HIP 6) and hipGetDriverEntryPoint (since HIP 7) answer with functions like cuGetProcAddress does
 *   - HIP exists over other APIs too, in libraries of other names. They are known by what they export */
#define _GNU_SOURCE
#include <string.h>

#include "driver/driver.h"
#include "hip/capture.h"
#include "hip/crumbs.h"
#include "hip/hooks.h"
#include "hip/red.h"
#include "hip/watch.h"

struct gdx_hip_table gdx_hip_driver, gdx_hip_next;

static const char *const exports[] = { "hipInit", "hipGetDeviceCount", "hipMalloc", "hipFree", "hipMemcpy", "hipStreamCreate",
                                       "hipLaunchKernel", "hipModuleLaunchKernel", "hipGetErrorString",
                                       "__hipRegisterFatBinary", "__hipRegisterFunction", NULL };
static const char *const tools[] = { "libamdhip64.so", "libhsa-runtime64", "libhiprtc", "libroctracer64",
                                     "librocprofiler", NULL };

static void gone(void)
{
    gdx_forget_functions(GDX_HIP_FUNCTION);
    gdx_hip_red_forget();
    gdx_hip_watch_forget();
    gdx_hip_crumbs_forget();
}

static void stand_in(void **functions)
{
    gdx_hip_red_table(functions);
    gdx_hip_poison_table(functions);
    gdx_hip_room_table(functions);
    gdx_hip_what_if_table(functions);
}

_Static_assert((int)GDX_HIP_NAMES <= GDX_NAMES_MAX, "names");
struct gdx_driver gdx_hip_api = {
    .library = "libamdhip64.so",
    .exports = exports,
    .tools = tools,
    .names = gdx_hip_names,
    .count = GDX_HIP_NAMES,
    .first = GDX_HIP_hipInit,
    .driver = (void **)&gdx_hip_driver,
    .next = (void **)&gdx_hip_next,
    .gone = gone,
    .stand_in = stand_in,
    .speaker = "libhsa-runtime64",
    .mark = "Memory access fault by GPU",
    .second_mark = "borting with error",
};

/* ---- registration ---- */

enum { BINARIES = 4096 };
static struct { _Atomic uintptr_t handle; _Atomic(const struct gdx_hip_image *) image; } binaries[BINARIES];

/* The runtime's function. It is loaded, since someone was linked to reach it; whether it was adopted yet depends on who came
 * first. A HIP of another vendor is called as it would have been without us. */
static void *real(int number, const void *caller)
{
    if (!gdx_real(&gdx_hip_api, number))
        gdx_look_for(&gdx_hip_api);
    void *own = gdx_real(&gdx_hip_api, number);
    return own ? own : gdx_beyond(gdx_hip_names[number].name, caller);
}
#define REAL(name) ((__typeof__(&name))real(GDX_HIP_##name, __builtin_return_address(0)))

static void keep_binary(void **handle, const void *data)
{
    for (size_t i = 0; handle && gdx_on() && i < BINARIES; i++) {
        uintptr_t here = 0;
        if (!atomic_compare_exchange_strong(&binaries[i].handle, &here, (uintptr_t)handle))
            continue;
        atomic_store(&binaries[i].image, gdx_hip_image_of(data));
        return;
    }
}

static const struct gdx_hip_image *image_of(void **handle)
{
    for (size_t i = 0; handle && i < BINARIES && atomic_load(&binaries[i].handle); i++)
        if (atomic_load(&binaries[i].handle) == (uintptr_t)handle)
            return atomic_load(&binaries[i].image);
    return NULL;
}

GDX_EXPORT void **__hipRegisterFatBinary(const void *data)
{
    __typeof__(&__hipRegisterFatBinary) next = REAL(__hipRegisterFatBinary);
    void **handle = next ? next(data) : NULL;
    keep_binary(handle, data);
    return handle;
}

GDX_EXPORT void __hipRegisterFunction(void **modules, const void *host, char *name, const char *device_name,
                                      unsigned int limit, void *thread, void *block_id, void *block, void *grid,
                                      int *wavefront)
{
    __typeof__(&__hipRegisterFunction) next = REAL(__hipRegisterFunction);
    if (!next)
        return;
    next(modules, host, name, device_name, limit, thread, block_id, block, grid, wavefront);
    gdx_hip_met(host, modules, image_of(modules), device_name);
}

GDX_EXPORT void __hipRegisterVar(void **modules, void *variable, char *name, char *device_name, int is_extern, size_t bytes,
                                 int is_constant, int is_global)
{
    __typeof__(&__hipRegisterVar) next = REAL(__hipRegisterVar);
    if (next)
        next(modules, variable, name, device_name, is_extern, bytes, is_constant, is_global);
    gdx_hip_capture_registered(modules, variable, device_name, bytes);
}

GDX_EXPORT void __hipUnregisterFatBinary(void **modules)
{
    __typeof__(&__hipUnregisterFatBinary) next = REAL(__hipUnregisterFatBinary);
    gdx_forget_owner((uintptr_t)modules);
    if (next)
        next(modules);
}

/* ---- the runtime's own look-up ---- */

/* Is `name` what the runtime may answer with when it is asked for `symbol`? The function itself, that for the thread's own
 * default stream, or that of a later version (hipGetDevicePropertiesR0600). */
static bool may_answer(const char *symbol, const char *name)
{
    size_t length = strlen(symbol);
    return !strncmp(name, symbol, length) && (!name[length] || !strcmp(name + length, "_spt") || name[length] == 'R');
}

/* The wrapper of a function that the runtime answered with; the function itself where there is none. */
static void *wrapped(const char *symbol, void *function)
{
    for (int i = 0; i < GDX_HIP_NAMES; i++)
        if (gdx_real(&gdx_hip_api, i) == function && gdx_hip_names[i].wrapper && may_answer(symbol, gdx_hip_names[i].name))
            return gdx_hip_names[i].wrapper;
    return function;
}

static hipError_t answered(hipError_t status, const char *symbol, void **function)
{
    if (status == hipSuccess && symbol && function && *function)
        *function = wrapped(symbol, *function);
    return status;
}

hipError_t rec_hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                                 hipDriverProcAddressQueryResult *found)
{
    return answered(gdx_hip_next.hipGetProcAddress(symbol, function, version, flags, found), symbol, function);
}

hipError_t rec_hipGetProcAddress_spt(const char *symbol, void **function, int version, uint64_t flags,
                                     hipDriverProcAddressQueryResult *found)
{
    return answered(gdx_hip_next.hipGetProcAddress_spt(symbol, function, version, flags, found), symbol, function);
}

hipError_t rec_hipGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                      hipDriverEntryPointQueryResult *found)
{
    return answered(gdx_hip_next.hipGetDriverEntryPoint(symbol, function, flags, found), symbol, function);
}

hipError_t rec_hipGetDriverEntryPoint_spt(const char *symbol, void **function, unsigned long long flags,
                                          hipDriverEntryPointQueryResult *found)
{
    return answered(gdx_hip_next.hipGetDriverEntryPoint_spt(symbol, function, flags, found), symbol, function);
}
