/* One program, three ways to the driver: -DLINKED (symbols of -lcuda), -DBY_DLSYM, -DBY_PROC_ADDRESS
 * (cuGetProcAddress_v2, found with dlsym, as the runtime library does). Programs write DO(cuInit)(0). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu.h"

#define CHECK(call)                                                                  \
    do {                                                                             \
        CUresult status_ = (call);                                                   \
        if (status_ != CUDA_SUCCESS) {                                               \
            printf("%s:%d: %s gave %d\n", __FILE_NAME__, __LINE__, #call, status_);  \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

#ifndef __FILE_NAME__
#define __FILE_NAME__ "program"
#endif

/* name under which cuGetProcAddress knows it, exported name */
#define FUNCTIONS(X) \
    X(cuInit, cuInit) X(cuDriverGetVersion, cuDriverGetVersion) X(cuDeviceGet, cuDeviceGet) \
    X(cuDeviceGetCount, cuDeviceGetCount) X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) \
    X(cuCtxCreate, cuCtxCreate_v2) X(cuCtxDestroy, cuCtxDestroy_v2) X(cuCtxSetCurrent, cuCtxSetCurrent) \
    X(cuCtxSynchronize, cuCtxSynchronize) X(cuModuleLoad, cuModuleLoad) X(cuModuleLoadData, cuModuleLoadData) \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx) X(cuModuleUnload, cuModuleUnload) \
    X(cuTexObjectCreate, cuTexObjectCreate) X(cuTexObjectDestroy, cuTexObjectDestroy) \
    X(cuModuleGetFunction, cuModuleGetFunction) X(cuLibraryLoadData, cuLibraryLoadData) \
    X(cuLibraryGetKernel, cuLibraryGetKernel) X(cuKernelGetFunction, cuKernelGetFunction) \
    X(cuMemAlloc, cuMemAlloc_v2) X(cuMemFree, cuMemFree_v2) X(cuMemAllocAsync, cuMemAllocAsync) \
    X(cuMemHostAlloc, cuMemHostAlloc) X(cuMemFreeHost, cuMemFreeHost) X(cuMemcpyDtoD, cuMemcpyDtoD_v2) \
    X(cuMemAllocPitch, cuMemAllocPitch_v2) X(cuMemAllocManaged, cuMemAllocManaged) \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2) X(cuPointerGetAttributes, cuPointerGetAttributes) \
    X(cuIpcGetMemHandle, cuIpcGetMemHandle) \
    X(cuMemFreeAsync, cuMemFreeAsync) X(cuMemGetInfo, cuMemGetInfo_v2) X(cuMemcpyHtoD, cuMemcpyHtoD_v2) \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2) X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2) X(cuMemcpy2D, cuMemcpy2D_v2) \
    X(cuMemsetD8, cuMemsetD8_v2) X(cuPointerGetAttribute, cuPointerGetAttribute) \
    X(cuStreamCreate, cuStreamCreate) X(cuStreamDestroy, cuStreamDestroy_v2) \
    X(cuStreamSynchronize, cuStreamSynchronize) X(cuStreamQuery, cuStreamQuery) \
    X(cuStreamWaitEvent, cuStreamWaitEvent) X(cuStreamBeginCapture, cuStreamBeginCapture_v2) \
    X(cuStreamEndCapture, cuStreamEndCapture) X(cuEventCreate, cuEventCreate) \
    X(cuEventDestroy, cuEventDestroy_v2) X(cuEventRecord, cuEventRecord) X(cuEventQuery, cuEventQuery) \
    X(cuEventSynchronize, cuEventSynchronize) X(cuLaunchKernel, cuLaunchKernel) \
    X(cuLaunchKernelEx, cuLaunchKernelEx) X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel) \
    X(cuLaunchHostFunc, cuLaunchHostFunc) X(cuGraphCreate, cuGraphCreate) \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2) X(cuGraphInstantiate, cuGraphInstantiateWithFlags) \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2) X(cuGraphLaunch, cuGraphLaunch) \
    X(cuGraphExecDestroy, cuGraphExecDestroy) X(cuGraphDestroy, cuGraphDestroy) \
    X(cuGetErrorName, cuGetErrorName) X(cuGreenCtxCreate, cuGreenCtxCreate) \
    X(cuCtxFromGreenCtx, cuCtxFromGreenCtx) X(cuGreenCtxDestroy, cuGreenCtxDestroy)

#ifdef LINKED
#define DO(name) name
static inline void reach_driver(void)
{
}
#else
#define MEMBER(symbol, name) __typeof__(&name) name;
static struct { FUNCTIONS(MEMBER) } reached;
#define DO(name) reached.name

static inline void *must(void *found, const char *name)
{
    if (!found) {
        printf("%s not found\n", name);
        exit(1);
    }
    return found;
}

static inline void reach_driver(void)
{
    void *driver = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
#ifdef BY_DLSYM
#define FIND(symbol, name) *(void **)&reached.name = must(dlsym(driver, #name), #name);
#else
    __typeof__(&cuGetProcAddress_v2) ask;
    CUdriverProcAddressQueryResult found;
    *(void **)&ask = must(dlsym(driver, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
#define FIND(symbol, name)                                             \
    CHECK(ask(#symbol, (void **)&reached.name, 13000, 0, &found));     \
    must(*(void **)&reached.name, #symbol);
#endif
    FUNCTIONS(FIND)
}
#endif
