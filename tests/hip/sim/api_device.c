/* Entries about errors, devices, device code and launches. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- errors ---- */

API hipError_t hipInit(unsigned int flags)
{
    return sim_return(flags ? hipErrorInvalidValue : sim_devices() ? hipSuccess : hipErrorNoDevice);
}

API hipError_t hipGetLastError(void)
{
    hipError_t last = sim_peek();
    sim_forget_error();
    return last;
}

API hipError_t hipPeekAtLastError(void)
{
    return sim_peek();
}

API const char *hipGetErrorString(hipError_t error)
{
    switch ((int)error) {
    case hipSuccess: return "no error";
    case hipErrorInvalidValue: return "invalid argument";
    case hipErrorOutOfMemory: return "out of memory";
    case hipErrorInvalidConfiguration: return "invalid configuration argument";
    case hipErrorNoDevice: return "no ROCm-capable device is detected";
    case hipErrorInvalidDevice: return "invalid device ordinal";
    case hipErrorIllegalAddress: return "an illegal memory access was encountered";
    case hipErrorLaunchFailure: return "unspecified launch failure";
    case hipErrorHostMemoryAlreadyRegistered: return "part or all of the requested memory range is already mapped";
    case hipErrorPeerAccessAlreadyEnabled: return "peer access is already enabled";
    default: return "unknown error";
    }
}

API const char *hipGetErrorName(hipError_t error)
{
    return error == hipErrorIllegalAddress ? "hipErrorIllegalAddress" : error ? "hipErrorUnknown" : "hipSuccess";
}

API hipError_t hipDriverGetVersion(int *version)
{
    *version = SIM_HIP >= 7 ? 70125424 : sim_mappings() ? 60032830 : 50221153;
    return sim_return(hipSuccess);
}

API hipError_t hipRuntimeGetVersion(int *version)
{
    return hipDriverGetVersion(version);
}

/* ---- devices ---- */

static bool is_device(int device)
{
    return device >= 0 && device < sim_devices();
}

API hipError_t hipGetDeviceCount(int *count)
{
    *count = sim_devices();
    return sim_return(*count ? hipSuccess : hipErrorNoDevice);
}

API hipError_t hipSetDevice(int device)
{
    if (!is_device(device))
        return sim_return(hipErrorInvalidDevice);
    sim_device = device;
    return sim_return(hipSuccess);
}

API hipError_t hipGetDevice(int *device)
{
    *device = sim_device;
    return sim_return(hipSuccess);
}

API hipError_t hipDeviceGetName(char *name, int room, hipDevice_t device)
{
    snprintf(name, (size_t)room, "simulated AMD device %d", device);
    return sim_return(hipSuccess);
}

API hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    (void)device;
    *bytes = (size_t)16 << 30;
    return sim_return(hipSuccess);
}

API hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    static const struct { hipDeviceAttribute_t what; int value; } known[] = {
        { hipDeviceAttributeMaxThreadsPerBlock, 1024 }, { hipDeviceAttributeMaxBlockDimX, 1024 },
        { hipDeviceAttributeMaxBlockDimY, 1024 }, { hipDeviceAttributeMaxBlockDimZ, 1024 },
        { hipDeviceAttributeMaxGridDimX, 2147483647 }, { hipDeviceAttributeMaxGridDimY, 2147483647 },
        { hipDeviceAttributeMaxGridDimZ, 2147483647 }, { hipDeviceAttributeMaxSharedMemoryPerBlock, 65536 },
        { hipDeviceAttributeWarpSize, 64 }, { hipDeviceAttributeMultiprocessorCount, 60 },
        { hipDeviceAttributeComputeCapabilityMajor, 9 }, { hipDeviceAttributeMaxThreadsPerMultiProcessor, 2560 },
        { hipDeviceAttributeCanUseStreamWaitValue, 1 },
    };
    *value = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].what == attribute)
            *value = known[i].value;
    if (attribute == (hipDeviceAttribute_t)89)  /* of later headers: hipDeviceAttributeVirtualMemoryManagementSupported */
        *value = sim_mappings();
    return sim_return(is_device(device) ? hipSuccess : hipErrorInvalidDevice);
}

API hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "simulated AMD device %d", device);
    properties->maxThreadsPerBlock = 1024;
    snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s", sim_architecture());
    return sim_return(is_device(device) ? hipSuccess : hipErrorInvalidDevice);
}

API hipError_t hipDeviceSynchronize(void)
{
    sim_wait_all(sim_device);
    return sim_return(hipSuccess);
}

API hipError_t hipDeviceReset(void)
{
    sim_wait_all(sim_device);
    atomic_store(&sim_fault, 0);
    return sim_return(hipSuccess);
}

API hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return sim_return(is_device(device) && is_device(peer) ? hipSuccess : hipErrorInvalidDevice);
}

API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    if (!is_device(peer) || flags)
        return sim_return(hipErrorInvalidValue);
    return sim_return(sim_allow_peer(sim_device, peer) ? hipSuccess : hipErrorPeerAccessAlreadyEnabled);
}

/* ---- device code ---- */

struct fat { const void *image; bool fits; };
struct registered { const void *host; char *name; struct registered *next; bool fits; unsigned most_threads; };
struct ihipModuleSymbol_t { char name[1]; };
struct ihipModule_t { int unused; };
static struct registered *kernels;

API void **__hipRegisterFatBinary(const void *data)
{
    struct fat *fat = calloc(1, sizeof *fat);
    fat->image = data;
    fat->fits = sim_has_code(data);
    return (void **)fat;
}

API void __hipUnregisterFatBinary(void **modules)
{
    free(modules);
}

API void __hipRegisterFunction(void **modules, const void *host, char *name, const char *device_name, unsigned limit,
                               void *thread, void *block_id, void *block, void *grid, int *wavefront)
{
    (void)name, (void)limit, (void)thread, (void)block_id, (void)block, (void)grid, (void)wavefront;
    struct registered *one = malloc(sizeof *one);
    const struct fat *fat = (const struct fat *)modules;
    *one = (struct registered){ host, strdup(device_name), kernels, fat->fits, fat->fits ? sim_most_threads(fat->image, device_name) : 0 };
    kernels = one;
}

static struct variable { const void *host; const char *name; struct variable *next; } *variables;

API void __hipRegisterVar(void **modules, void *var, char *host, char *device, int is_extern, size_t size, int constant,
                          int global)
{
    (void)modules, (void)host, (void)is_extern, (void)size, (void)constant, (void)global;
    struct variable *one = malloc(sizeof *one);
    *one = (struct variable){ var, strdup(device), variables };
    variables = one;
}

API hipError_t hipGetSymbolAddress(void **result, const void *host)
{
    size_t size;
    *result = NULL;
    for (const struct variable *one = variables; one && !*result; one = one->next)
        *result = one->host == host ? sim_variable(one->name, &size) : NULL;
    return sim_return(*result ? hipSuccess : hipErrorInvalidSymbol);
}

API hipError_t hipModuleGetGlobal(hipDeviceptr_t *result, size_t *size, hipModule_t module, const char *name)
{
    size_t bytes = 0;
    *result = module ? sim_variable(name, &bytes) : NULL;
    if (size)
        *size = bytes;
    return sim_return(*result ? hipSuccess : hipErrorNotFound);
}

API hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    void *to = NULL;
    hipError_t status = hipGetSymbolAddress(&to, symbol);
    return status == hipSuccess ? hipMemcpy((char *)to + offset, from, bytes, kind) : status;
}

const char *sim_name_of(const void *host)
{
    for (const struct registered *one = kernels; one; one = one->next)
        if (one->host == host)
            return one->fits ? one->name : NULL;
    return NULL;
}

static unsigned most_threads(const void *host)
{
    for (const struct registered *one = kernels; one; one = one->next)
        if (one->host == host)
            return one->most_threads;
    return 0;
}

API hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    bool known = image && (!memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) || !memcmp(image, "\177ELF", 4)
                           || !memcmp(image, "CCOB", 4));
    bool fits = known && sim_has_code(image);
    *module = fits ? calloc(1, sizeof **module) : NULL;
    return sim_return(fits ? hipSuccess : known ? hipErrorNoBinaryForGpu : hipErrorInvalidImage);
}

API hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count, hipJitOption *options, void **values)
{
    (void)count, (void)options, (void)values;
    return hipModuleLoadData(module, image);
}

API hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t kernel)
{
    *value = attribute == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return sim_return(kernel ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
    static _Thread_local char head[8192];
    FILE *file = fopen(path, "rb");
    if (!file)
        return sim_return(hipErrorFileNotFound);
    memset(head, 0, sizeof head);
    size_t got = fread(head, 1, sizeof head, file);
    fclose(file);
    return got >= 24 ? hipModuleLoadData(module, head) : sim_return(hipErrorInvalidImage);
}

API hipError_t hipModuleUnload(hipModule_t module)
{
    free(module);
    return sim_return(hipSuccess);
}

API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    (void)module;
    *function = malloc(sizeof **function + strlen(name));
    strcpy((*function)->name, name);
    return sim_return(hipSuccess);
}

/* ---- launches ---- */

static _Thread_local struct { dim3 grid, block; size_t shared; hipStream_t stream; } pushed;

API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return hipSuccess;
}

API hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return hipSuccess;
}

static bool too_large(uint64_t blocks, uint64_t threads)
{
    return blocks * threads >= (uint64_t)1 << 32;  /* HIP programming manual: work-items of a dimension */
}

/* clr, hip_module.cpp, ihipLaunchKernel_validate: more threads than the kernel was compiled for are another error than more than the
 * device has. */
static bool in_bounds(const void *kernel, dim3 block)
{
    unsigned most = kernel ? most_threads(kernel) : 0;
    return !most || (uint64_t)block.x * block.y * block.z <= most;
}

static bool is_valid(dim3 grid, dim3 block, size_t shared)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return threads && threads <= 1024 && grid.x && grid.y && grid.z && shared <= 65536 && !too_large(grid.x, block.x)
        && !too_large(grid.y, block.y) && !too_large(grid.z, block.z);
}

static hipError_t launch(const void *kernel, const char *name, dim3 grid, dim3 block, void **params, void **extra, size_t shared,
                         hipStream_t stream)
{
    static _Atomic int noop = -1, blocking = -1, serial = -1;
    if (noop < 0)
        noop = getenv("GPUDX_HIP_SIM_NOOP") != NULL;
    if (blocking < 0)
        blocking = getenv("HIP_LAUNCH_BLOCKING") && strcmp(getenv("HIP_LAUNCH_BLOCKING"), "0");
    if (serial < 0)
        serial = sim_serial("AMD_SERIALIZE_KERNEL");
    if (!name)
        return sim_return(hipErrorInvalidDeviceFunction);
    if (!is_valid(grid, block, shared))
        return sim_return(hipErrorInvalidConfiguration);
    if (noop)
        return sim_return(hipSuccess);
    if (!in_bounds(kernel, block))
        return sim_return(hipErrorLaunchFailure);
    struct sim_launch one = { .function = kernel, .name = name, .grid = grid, .block = block, .device = sim_stream_device(stream) };
    if (!sim_prepare(&one, name, params, extra))
        one.code = NULL;
    if (sim_capture(stream, SIM_KERNEL, sim_run, &one, sizeof one))
        return sim_return(hipSuccess);
    if (serial & SIM_BEFORE)
        sim_wait_all(one.device);
    uint64_t number = sim_submit(stream, sim_run, &one, sizeof one);
    if (blocking || serial & SIM_AFTER)
        sim_wait(stream, number);
    return sim_return(hipSuccess);
}

API hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **params, size_t shared, hipStream_t stream)
{
    return launch(kernel, sim_name_of(kernel), grid, block, params, NULL, shared, sim_stream(stream, false));
}

API hipError_t hipLaunchKernel_spt(const void *kernel, dim3 grid, dim3 block, void **params, size_t shared,
                                   hipStream_t stream)
{
    return launch(kernel, sim_name_of(kernel), grid, block, params, NULL, shared, sim_stream(stream, true));
}

API hipError_t hipLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **params, unsigned int shared,
                                          hipStream_t stream)
{
    return launch(kernel, sim_name_of(kernel), grid, block, params, NULL, shared, sim_stream(stream, false));
}

API hipError_t hipExtLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **params, size_t shared,
                                  hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags)
{
    (void)start, (void)stop, (void)flags;
    return launch(kernel, sim_name_of(kernel), grid, block, params, NULL, shared, sim_stream(stream, false));
}

/* Of HIP 7; the header of 5.2.3 does not have them. */
struct config { dim3 grid, block; size_t shared; hipStream_t stream; void *attributes; unsigned count; };
struct driver_config { dim3 grid, block; unsigned shared; hipStream_t stream; void *attributes; unsigned count; };

API hipError_t hipLaunchKernelExC(const struct config *c, const void *kernel, void **params)
{
    return launch(kernel, sim_name_of(kernel), c->grid, c->block, params, NULL, c->shared, sim_stream(c->stream, false));
}

API hipError_t hipDrvLaunchKernelEx(const struct driver_config *c, hipFunction_t kernel, void **params, void **extra)
{
    return launch(kernel, kernel->name, c->grid, c->block, params, extra, c->shared, sim_stream(c->stream, false));
}

API hipError_t hipModuleLaunchKernel(hipFunction_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned shared, hipStream_t stream, void **params,
                                     void **extra)
{
    return launch(kernel, kernel->name, (dim3){ gx, gy, gz }, (dim3){ bx, by, bz }, params, extra, shared,
                  sim_stream(stream, false));
}

API hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t kernel, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t shared,
    hipStream_t stream, void **params, void **extra, hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
    (void)start, (void)stop, (void)flags;
    return hipModuleLaunchKernel(kernel, (x + bx - 1) / bx, (y + by - 1) / by, (z + bz - 1) / bz, bx, by, bz,
                                 (unsigned)shared, stream, params, extra);
}

/* The oldest form; the arguments that calls before it gave are not kept here. */
API hipError_t hipLaunchByPtr(const void *kernel)
{
    return sim_return(sim_name_of(kernel) ? hipSuccess : hipErrorInvalidDeviceFunction);
}
