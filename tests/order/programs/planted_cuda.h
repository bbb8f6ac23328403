/* What every CUDA program here begins with: `prog MODE bug|twin`. The twin has the one edge that the bug lacks.
 *
 * A twin looks at its result and ends with 1 if that is wrong; what a bug computes is left to chance. The programs are
 * linked with -lcuda, the vendor's or the fake one of tests/cuda, and need no header but our own: the image below is PTX
 * for the one, and its first line describes the kernel to the other. All buffers differ in size, so that a report that
 * names the wrong one is seen to be wrong. */
#pragma once
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu.h"

enum { COUNT = 4096, BYTES = COUNT * 4 };
enum { X_BYTES = BYTES, Y_BYTES = BYTES + 1024, Z_BYTES = BYTES + 2048, W_BYTES = BYTES + 3072, ONES_BYTES = BYTES + 4096,
       IN_BYTES = BYTES + 5120, BACK_BYTES = BYTES + 6144, M_BYTES = BYTES + 7168 };

#define CHECK(call)                                                  \
    do {                                                             \
        CUresult status_ = (call);                                   \
        if (status_ != CUDA_SUCCESS) {                               \
            printf("%s: %d\n", #call, (int)status_);                 \
            exit(1);                                                 \
        }                                                            \
    } while (0)

/* void add(const float *a, const float *b, float *out, int n) */
static const char image[] =
    "// kernel _Z3addPKfS0_Pfi 8 8 8 4\n"
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry _Z3addPKfS0_Pfi(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .f32 %f<3>;\n"
    "    .reg .u32 %r<5>;\n"
    "    .reg .u64 %d<4>;\n"
    "    ld.param.u64 %d0, [a];\n"
    "    ld.param.u64 %d1, [b];\n"
    "    ld.param.u64 %d2, [out];\n"
    "    ld.param.u32 %r0, [n];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "    setp.ge.u32 %p, %r4, %r0;\n"
    "    @%p ret;\n"
    "    mul.wide.u32 %d3, %r4, 4;\n"
    "    add.u64 %d0, %d0, %d3;\n"
    "    add.u64 %d1, %d1, %d3;\n"
    "    add.u64 %d2, %d2, %d3;\n"
    "    ld.global.f32 %f0, [%d0];\n"
    "    ld.global.f32 %f1, [%d1];\n"
    "    add.f32 %f2, %f0, %f1;\n"
    "    st.global.f32 [%d2], %f2;\n"
    "    ret;\n"
    "}\n";

#define LEGACY ((CUstream)NULL)
#define PER_THREAD ((CUstream)CU_STREAM_PER_THREAD)

static bool twin;
static CUcontext context;
static CUfunction add_function;
static CUstream a, b, c;                 /* non-blocking: nothing orders them but what a program says */
static CUevent done, other;
static CUdeviceptr x, y, z, w, ones;     /* begin as 5, 7, 9, 11 and 1 */
static float *in, *back;                 /* pinned; `in` is full of 2 */
static CUdeviceptr result;               /* where the outcome is, if not in y */
static float *host_result;               /* or in host memory */

/* Inlined, so that every launch has a call site of its own. */
static inline __attribute__((always_inline)) void add(CUstream queue, CUdeviceptr left, CUdeviceptr right, CUdeviceptr out)
{
    int n = COUNT;
    void *params[] = { &left, &right, &out, &n };
    CHECK(cuLaunchKernel(add_function, COUNT / 256, 1, 1, 256, 1, 1, 0, queue, params, NULL));
}

/* Work put into `to` from here on begins when what `from` has by now is done. */
static inline void order(CUstream from, CUstream to, CUevent event)
{
    CHECK(cuEventRecord(event, from));
    CHECK(cuStreamWaitEvent(to, event, 0));
}

static inline float *pinned(size_t bytes, float value)
{
    float *made;
    CHECK(cuMemHostAlloc((void **)&made, bytes, 0));
    for (int i = 0; i < COUNT; i++)
        made[i] = value;
    return made;
}

static inline CUdeviceptr buffer(size_t bytes, float value)
{
    static float values[COUNT];
    CUdeviceptr made;
    for (int i = 0; i < COUNT; i++)
        values[i] = value;
    CHECK(cuMemAlloc_v2(&made, bytes));
    CHECK(cuMemcpyHtoD_v2(made, values, BYTES));
    return made;
}

static inline void start(void)
{
    CUdevice device;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&add_function, module, "_Z3addPKfS0_Pfi"));
    CUstream *streams[] = { &a, &b, &c };
    for (int i = 0; i < 3; i++)
        CHECK(cuStreamCreate(streams[i], CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&done, 2));      /* 2: without times */
    CHECK(cuEventCreate(&other, 2));
    x = buffer(X_BYTES, 5), y = buffer(Y_BYTES, 7), z = buffer(Z_BYTES, 9), w = buffer(W_BYTES, 11);
    ones = buffer(ONES_BYTES, 1);
    in = pinned(IN_BYTES, 2), back = pinned(BACK_BYTES, 0);
    CHECK(cuCtxSynchronize());           /* a copy from pageable memory may return before the data has arrived */
}

static inline bool right(float want)
{
    static float values[COUNT];
    CHECK(cuCtxSynchronize());
    if (!host_result)
        CHECK(cuMemcpyDtoH_v2(values, result ? result : y, BYTES));
    for (int i = 0; i < COUNT; i++)
        if ((host_result ? host_result : values)[i] != want)
            return false;
    return true;
}

static inline void stop(void)
{
    CUdeviceptr all[] = { x, y, z, w, ones };
    for (int i = 0; i < 5; i++)
        CHECK(cuMemFree_v2(all[i]));
    CHECK(cuMemFreeHost(in));
    CHECK(cuMemFreeHost(back));
    CHECK(cuEventDestroy_v2(done));
    CHECK(cuEventDestroy_v2(other));
    CHECK(cuStreamDestroy_v2(a));
    CHECK(cuStreamDestroy_v2(b));
    CHECK(cuStreamDestroy_v2(c));
}

#include "planted_play.h"
