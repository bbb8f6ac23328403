/* Start, devices, contexts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

API uint64_t fakeChecksum(void)
{
    return checksum;
}

/* As the driver does it: the library of a tool, and a function that it must have. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    if (tool)
        *(void **)&begin = dlsym(tool, "InitializeInjection");
    if (begin)
        begin();
}

API CUresult cuInit(unsigned int flags)
{
    NEED(flags == 0, CUDA_ERROR_INVALID_VALUE);
    if (!started)
        inject();
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

/* What a green context is used as has the same address each time, as with a real driver that gives memory out again. */
API CUresult cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc resources, CUdevice device, unsigned int flags)
{
    static struct context used_as;
    ENTER(cuGreenCtxCreate);
    (void)resources, (void)flags;
    used_as = (struct context){ CONTEXT, device };
    *green = (CUgreenCtx)&used_as;
    return CUDA_SUCCESS;
}

API CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
    ENTER(cuCtxFromGreenCtx);
    *context = (CUcontext)green;
    return CUDA_SUCCESS;
}

API CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
    ENTER(cuGreenCtxDestroy);
    ((struct context *)green)->magic = DEAD;
    if (current == (struct context *)green)
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
