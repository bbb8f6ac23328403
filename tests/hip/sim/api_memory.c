/* Entries about memory: allocation, copies, fills. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { PITCH = 256, NO_DEVICE = -1 };

static hipError_t allocate(void **result, size_t bytes, int device)
{
    if (!result)
        return sim_return(hipErrorInvalidValue);
    *result = bytes ? sim_allocate(bytes, device) : NULL;
    return sim_return(*result || !bytes ? hipSuccess : hipErrorOutOfMemory);
}

API hipError_t hipMalloc(void **result, size_t bytes)
{
    return allocate(result, bytes, sim_device);
}

API hipError_t hipExtMallocWithFlags(void **result, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(result, bytes, sim_device);
}

API hipError_t hipMallocManaged(void **result, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(result, bytes, NO_DEVICE);
}

API hipError_t hipHostMalloc(void **result, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(result, bytes, NO_DEVICE);
}

API hipError_t hipMallocHost(void **result, size_t bytes)
{
    return allocate(result, bytes, NO_DEVICE);
}

API hipError_t hipHostAlloc(void **result, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(result, bytes, NO_DEVICE);
}

API hipError_t hipMallocPitch(void **result, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return allocate(result, *pitch * height, sim_device);
}

API hipError_t hipMalloc3D(hipPitchedPtr *result, hipExtent extent)
{
    result->pitch = (extent.width + PITCH - 1) / PITCH * PITCH;
    result->xsize = extent.width;
    result->ysize = extent.height;
    return allocate(&result->ptr, result->pitch * extent.height * extent.depth, sim_device);
}

static hipError_t release(void *address)
{
    sim_wait_all(sim_device);
    return sim_return(!address || (sim_retire(address) && sim_release(address)) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipFree(void *address)
{
    return release(address);
}

API hipError_t hipHostFree(void *address)
{
    return release(address);
}

API hipError_t hipFreeHost(void *address)
{
    return release(address);
}

API hipError_t hipHostRegister(void *host, size_t bytes, unsigned int flags)
{
    (void)flags;
    if (!host || !bytes)
        return sim_return(hipErrorInvalidValue);
    return sim_return(sim_register(host, bytes) ? hipSuccess : hipErrorHostMemoryAlreadyRegistered);
}

API hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    *device = host;
    return sim_return(host && !flags ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipHostUnregister(void *host)
{
    return sim_return(sim_unregister(host) ? hipSuccess : hipErrorHostMemoryNotRegistered);
}

API hipError_t hipMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)16 << 30;
    return sim_return(hipSuccess);
}

API hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t address)
{
    uintptr_t first;
    int device;
    if (!sim_find(address, &first, size, &device))
        return sim_return(hipErrorNotFound);
    *base = (hipDeviceptr_t)first;
    return sim_return(hipSuccess);
}

API hipError_t hipMemPtrGetInfo(void *address, size_t *size)
{
    uintptr_t first;
    int device;
    return sim_return(sim_find(address, &first, size, &device) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute, hipDeviceptr_t address)
{
    uintptr_t first;
    size_t size;
    int device;
    if (!sim_find(address, &first, &size, &device))
        return sim_return(hipErrorInvalidValue);
    if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(void **)value = (void *)first;
    else if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_SIZE)
        *(size_t *)value = size;
    else if (attribute == HIP_POINTER_ATTRIBUTE_DEVICE_POINTER)
        *(void **)value = address;
    else
        return sim_return(hipErrorNotSupported);
    return sim_return(hipSuccess);
}

/* ---- copies ---- */

struct copy { char *dst; const char *src; size_t dst_pitch, src_pitch, width, height; };

static void do_rows(const struct copy *copy)
{
    for (size_t row = 0; row < copy->height; row++)
        memmove(copy->dst + row * copy->dst_pitch, copy->src + row * copy->src_pitch, copy->width);
}

/* On the copy engine one comes after the other, whatever streams they are of. A fault leaves from the middle: the engine is
 * then of no use to anyone, since every later call reports it. */
static void do_copy(void *copy)
{
    static pthread_mutex_t engine = PTHREAD_MUTEX_INITIALIZER;
    bool shared = sim_engine();
    while (shared && pthread_mutex_trylock(&engine)) {
        if (atomic_load(&sim_fault))
            return;
        sched_yield();
    }
    do_rows(copy);
    if (shared)
        pthread_mutex_unlock(&engine);
}

/* clr, hip_memory.cpp, ihipMemcpy_validate: a range that is longer than the memory it begins in is refused. */
static bool too_long(const void *address, size_t bytes)
{
    uintptr_t base;
    size_t size;
    int device;
    return sim_find(address, &base, &size, &device) && bytes > base + size - (uintptr_t)address;
}

static hipError_t copy_on(hipStream_t stream, bool wait, struct copy copy)
{
    if (copy.width && copy.height && (!copy.dst || !copy.src))
        return sim_return(hipErrorInvalidValue);
    if (copy.height == 1 && (too_long(copy.dst, copy.width) || too_long(copy.src, copy.width)))
        return sim_return(hipErrorInvalidValue);
    if (sim_capture(stream, SIM_COPY, do_copy, &copy, sizeof copy))
        return sim_return(hipSuccess);
    int serial = sim_serial("AMD_SERIALIZE_COPY");
    if (serial & SIM_BEFORE)
        sim_wait_all(sim_stream_device(stream));
    uint64_t number = sim_submit(stream, do_copy, &copy, sizeof copy);
    if (wait || serial & SIM_AFTER)
        sim_wait(stream, number);
    return sim_return(hipSuccess);
}

static struct copy plain(void *dst, const void *src, size_t bytes)
{
    return (struct copy){ dst, src, 0, 0, bytes, 1 };
}

API hipError_t hipMemcpy(void *dst, const void *src, size_t bytes, hipMemcpyKind kind)
{
    return kind > hipMemcpyDefault ? sim_return(hipErrorInvalidValue)
                                   : copy_on(sim_stream(NULL, false), true, plain(dst, src, bytes));
}

API hipError_t hipMemcpy_spt(void *dst, const void *src, size_t bytes, hipMemcpyKind kind)
{
    (void)kind;
    return copy_on(sim_stream(NULL, true), true, plain(dst, src, bytes));
}

API hipError_t hipMemcpyAsync(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    (void)kind;
    return copy_on(sim_stream(stream, false), false, plain(dst, src, bytes));
}

API hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    (void)kind;
    return copy_on(sim_stream(stream, false), true, plain(dst, src, bytes));
}

API hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t bytes)
{
    return copy_on(sim_stream(NULL, false), true, plain(dst, src, bytes));
}

API hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t bytes)
{
    return copy_on(sim_stream(NULL, false), true, plain(dst, src, bytes));
}

API hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes)
{
    return copy_on(sim_stream(NULL, false), false, plain(dst, src, bytes));
}

API hipError_t hipMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                           hipMemcpyKind kind)
{
    (void)kind;
    if (width > dst_pitch || width > src_pitch)
        return sim_return(hipErrorInvalidPitchValue);
    return copy_on(sim_stream(NULL, false), true, (struct copy){ dst, src, dst_pitch, src_pitch, width, height });
}

API hipError_t hipMemcpy3D(const struct hipMemcpy3DParms *p)
{
    hipError_t status = hipSuccess;
    for (size_t z = 0; z < p->extent.depth && status == hipSuccess; z++) {
        char *dst = (char *)p->dstPtr.ptr + (z + p->dstPos.z) * p->dstPtr.ysize * p->dstPtr.pitch;
        const char *src = (const char *)p->srcPtr.ptr + (z + p->srcPos.z) * p->srcPtr.ysize * p->srcPtr.pitch;
        status = copy_on(sim_stream(NULL, false), true,
                         (struct copy){ dst + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x,
                                        src + p->srcPos.y * p->srcPtr.pitch + p->srcPos.x, p->dstPtr.pitch,
                                        p->srcPtr.pitch, p->extent.width, p->extent.height });
    }
    return status;
}

/* ---- fills ---- */

struct fill { char *dst; size_t pitch, width, height; int value; };

static void do_fill(void *fill_)
{
    const struct fill *fill = fill_;
    for (size_t row = 0; row < fill->height; row++)
        memset(fill->dst + row * fill->pitch, fill->value, fill->width);
}

static hipError_t fill_on(hipStream_t stream, struct fill fill)
{
    if (!fill.dst && fill.width && fill.height)
        return sim_return(hipErrorInvalidValue);
    if (fill.height == 1 && too_long(fill.dst, fill.width))
        return sim_return(hipErrorInvalidValue);
    if (!sim_capture(stream, SIM_FILL, do_fill, &fill, sizeof fill))
        sim_submit(stream, do_fill, &fill, sizeof fill);
    return sim_return(hipSuccess);
}

API hipError_t hipMemset(void *dst, int value, size_t bytes)
{
    return fill_on(sim_stream(NULL, false), (struct fill){ dst, 0, bytes, 1, value });
}

API hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count)
{
    return hipMemset(dst, value, count);
}

API hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    return fill_on(sim_stream(stream, false), (struct fill){ dst, 0, bytes, 1, value });
}

struct halves { uint16_t *dst, value; size_t count; };

static void do_halves(void *halves_)
{
    const struct halves *halves = halves_;
    for (size_t i = 0; i < halves->count; i++)
        halves->dst[i] = halves->value;
}

API hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t stream)
{
    struct halves halves = { dst, value, count };
    if (!dst || too_long(dst, 2 * count))
        return sim_return(hipErrorInvalidValue);
    sim_submit(sim_stream(stream, false), do_halves, &halves, sizeof halves);
    return sim_return(hipSuccess);
}

API hipError_t hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return fill_on(sim_stream(NULL, false), (struct fill){ dst, pitch, width, height, value });
}

API hipError_t hipMemset3D(hipPitchedPtr dst, int value, hipExtent extent)
{
    size_t rows = dst.ysize * (extent.depth ? extent.depth - 1 : 0) + extent.height;
    return fill_on(sim_stream(NULL, false), (struct fill){ dst.ptr, dst.pitch, extent.width, rows, value });
}
