/* cuGetProcAddress. */
#define _GNU_SOURCE
#include <string.h>

#include "fake.h"

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
    ENTRY("cuTexObjectCreate", 5000, cuTexObjectCreate),
    ENTRY("cuTexObjectDestroy", 5000, cuTexObjectDestroy),
    ENTRY("cuModuleGetFunction", 2000, cuModuleGetFunction),
    ENTRY("cuLibraryLoadData", 12000, cuLibraryLoadData),
    ENTRY("cuLibraryUnload", 12000, cuLibraryUnload),
    ENTRY("cuLibraryGetKernel", 12000, cuLibraryGetKernel),
    ENTRY("cuLibraryGetGlobal", 12000, cuLibraryGetGlobal),
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
    ENTRY("cuGreenCtxCreate", 12040, cuGreenCtxCreate),
    ENTRY("cuCtxFromGreenCtx", 12040, cuCtxFromGreenCtx),
    ENTRY("cuGreenCtxDestroy", 12040, cuGreenCtxDestroy),
    ENTRY("cuGetProcAddress", 11030, cuGetProcAddress),
    ENTRY("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    ENTRY("cuMadeTomorrow", 13000, a_new_function),
    { NULL, 0, 0, NULL },
};
