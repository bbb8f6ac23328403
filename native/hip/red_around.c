/* What a program can see of its memory besides using it stays as it was: how large it is, which copies are refused because
 * they are longer than it, and that it ends with its device's reset. */
#define _GNU_SOURCE
#include "hip/red.h"

/* ---- sizes ---- */

static hipError_t around_hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t address)
{
    struct gdx_block block;
    hipError_t status = gdx_hip_driver.hipMemGetAddressRange(base, size, address);
    if (status == hipSuccess && size && gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        *size = block.bytes;
    return status;
}

static hipError_t around_hipMemPtrGetInfo(void *address, size_t *size)
{
    struct gdx_block block;
    hipError_t status = gdx_hip_driver.hipMemPtrGetInfo(address, size);
    if (status == hipSuccess && size && gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        *size = block.bytes;
    return status;
}

static void correct(void *value, hipPointer_attribute attribute, hipDeviceptr_t address)
{
    struct gdx_block block;
    if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_SIZE && gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        *(size_t *)value = block.bytes;
}

static hipError_t around_hipPointerGetAttribute(void *value, hipPointer_attribute attribute, hipDeviceptr_t address)
{
    hipError_t status = gdx_hip_driver.hipPointerGetAttribute(value, attribute, address);
    if (status == hipSuccess)
        correct(value, attribute, address);
    return status;
}

static hipError_t around_hipDrvPointerGetAttributes(unsigned int count, hipPointer_attribute *attributes, void **values,
                                                    hipDeviceptr_t address)
{
    hipError_t status = gdx_hip_driver.hipDrvPointerGetAttributes(count, attributes, values, address);
    for (unsigned int i = 0; status == hipSuccess && i < count; i++)
        correct(values[i], attributes[i], address);
    return status;
}

/* ---- ranges ---- */

/* The runtime refuses a copy or fill that is longer than the memory it begins in (clr, hip_memory.cpp, ihipMemcpy_validate).
 * One that ends in a zone is made to end behind it, so that the runtime refuses it with its own status, as without us. Whether
 * this runtime does so is tried once, where it can do no harm: memory comes in pages. */
enum { UNKNOWN, REFUSES, TAKES };
static _Atomic int refusal;

void gdx_hip_try_refusal(int device)
{
    enum { BYTES = 256 };
    static char seen[BYTES + 1];
    void *memory = NULL;
    hipStream_t stream = gdx_hip_own_stream(device);
    if (atomic_load(&refusal) || gdx_hip_driver.hipPeekAtLastError() != hipSuccess
        || gdx_hip_driver.hipMalloc(&memory, BYTES) != hipSuccess)
        return;
    bool taken = gdx_hip_driver.hipMemcpyAsync(seen, memory, BYTES + 1, hipMemcpyDeviceToHost, stream) == hipSuccess;
    if (taken)
        gdx_hip_own_ended(device);
    else
        gdx_hip_driver.hipGetLastError();  /* it was ours, and none was there before */
    atomic_store(&refusal, taken ? TAKES : REFUSES);
    gdx_hip_driver.hipFree(memory);
}

void gdx_hip_around_forget(void)
{
    atomic_store(&refusal, UNKNOWN);
}

static size_t longer(size_t bytes, const void *from)
{
    struct gdx_block block;
    if (!gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(from), &block))
        return bytes;
    uint64_t left = block.address + block.bytes - GDX_HIP_WORD(from);
    return bytes > left && bytes <= left + GDX_RED_ZONE ? left + GDX_RED_ZONE + 1 : bytes;
}

static size_t whole(size_t bytes, const void *one, const void *other)
{
    return atomic_load(&refusal) == REFUSES ? longer(longer(bytes, one), other) : bytes;
}

/* Copies that wait are waits of the program. */
#define COPY(name, waits, parameters, ...)                              \
    static hipError_t around_##name parameters                          \
    {                                                                   \
        size = whole(size, dst, src);                                   \
        hipError_t status = gdx_hip_driver.name(__VA_ARGS__);           \
        if (waits && status == hipSuccess)                              \
            gdx_hip_red_waited();                                       \
        return status;                                                  \
    }
COPY(hipMemcpy, true, (void *dst, const void *src, size_t size, hipMemcpyKind kinds), dst, src, size, kinds)
COPY(hipMemcpy_spt, true, (void *dst, const void *src, size_t size, hipMemcpyKind kinds), dst, src, size, kinds)
COPY(hipMemcpyAsync, false, (void *dst, const void *src, size_t size, hipMemcpyKind kinds, hipStream_t queue), dst, src, size,
     kinds, queue)
COPY(hipMemcpyAsync_spt, false, (void *dst, const void *src, size_t size, hipMemcpyKind kinds, hipStream_t queue), dst, src,
     size, kinds, queue)
COPY(hipMemcpyWithStream, true, (void *dst, const void *src, size_t size, hipMemcpyKind kinds, hipStream_t queue), dst, src,
     size, kinds, queue)
COPY(hipMemcpyHtoD, true, (hipDeviceptr_t dst, void *src, size_t size), dst, src, size)
COPY(hipMemcpyDtoH, true, (void *dst, hipDeviceptr_t src, size_t size), dst, src, size)
COPY(hipMemcpyDtoD, false, (hipDeviceptr_t dst, hipDeviceptr_t src, size_t size), dst, src, size)
COPY(hipMemcpyHtoDAsync, false, (hipDeviceptr_t dst, void *src, size_t size, hipStream_t queue), dst, src, size, queue)
COPY(hipMemcpyDtoHAsync, false, (void *dst, hipDeviceptr_t src, size_t size, hipStream_t queue), dst, src, size, queue)
COPY(hipMemcpyDtoDAsync, false, (hipDeviceptr_t dst, hipDeviceptr_t src, size_t size, hipStream_t queue), dst, src, size, queue)
COPY(hipMemcpyPeer, false, (void *dst, int to, const void *src, int from, size_t size), dst, to, src, from, size)
COPY(hipMemcpyPeerAsync, false, (void *dst, int to, const void *src, int from, size_t size, hipStream_t queue), dst, to, src,
     from, size, queue)

/* In whole elements; a count too large for memory is left to the runtime. */
static size_t elements(size_t count, size_t bytes, const void *dst)
{
    return count > SIZE_MAX / bytes ? count : (whole(count * bytes, dst, NULL) + bytes - 1) / bytes;
}

#define FILL(name, type, bytes)                                                               \
    static hipError_t around_##name(void *dst, type value, size_t count)                      \
    {                                                                                         \
        return gdx_hip_driver.name(dst, value, elements(count, bytes, dst));                  \
    }
#define FILL_ASYNC(name, type, bytes)                                                         \
    static hipError_t around_##name(void *dst, type value, size_t count, hipStream_t queue)   \
    {                                                                                         \
        return gdx_hip_driver.name(dst, value, elements(count, bytes, dst), queue);           \
    }
FILL(hipMemset, int, 1)
FILL(hipMemset_spt, int, 1)
FILL(hipMemsetD8, unsigned char, 1)
FILL(hipMemsetD16, unsigned short, 2)
FILL(hipMemsetD32, int, 4)
FILL_ASYNC(hipMemsetAsync, int, 1)
FILL_ASYNC(hipMemsetD8Async, unsigned char, 1)
FILL_ASYNC(hipMemsetD16Async, unsigned short, 2)
FILL_ASYNC(hipMemsetD32Async, int, 4)

/* ---- the end of all memory of a device ---- */

static hipError_t around_hipDeviceReset(void)
{
    int device = -1;
    gdx_hip_driver.hipGetDevice(&device);
    hipError_t status = gdx_hip_driver.hipDeviceReset();
    if (status == hipSuccess && device >= 0)
        gdx_hip_red_end_device(device);
    return status;
}

static hipError_t around_hipDevicePrimaryCtxReset(hipDevice_t device)
{
    hipError_t status = gdx_hip_driver.hipDevicePrimaryCtxReset(device);
    if (status == hipSuccess)
        gdx_hip_red_end_device(device);
    return status;
}

#define STAND_IN(name) { GDX_HIP_##name, (void *)around_##name }
const struct gdx_hip_stand_in gdx_hip_around[] = {
    STAND_IN(hipMemGetAddressRange), STAND_IN(hipMemPtrGetInfo), STAND_IN(hipPointerGetAttribute),
    STAND_IN(hipDrvPointerGetAttributes), STAND_IN(hipMemcpy), STAND_IN(hipMemcpy_spt), STAND_IN(hipMemcpyAsync),
    STAND_IN(hipMemcpyAsync_spt), STAND_IN(hipMemcpyWithStream), STAND_IN(hipMemcpyHtoD), STAND_IN(hipMemcpyDtoH),
    STAND_IN(hipMemcpyDtoD), STAND_IN(hipMemcpyHtoDAsync), STAND_IN(hipMemcpyDtoHAsync), STAND_IN(hipMemcpyDtoDAsync),
    STAND_IN(hipMemcpyPeer), STAND_IN(hipMemcpyPeerAsync), STAND_IN(hipMemset), STAND_IN(hipMemset_spt),
    STAND_IN(hipMemsetD8), STAND_IN(hipMemsetD16), STAND_IN(hipMemsetD32), STAND_IN(hipMemsetAsync),
    STAND_IN(hipMemsetD8Async), STAND_IN(hipMemsetD16Async), STAND_IN(hipMemsetD32Async),
    STAND_IN(hipDeviceReset), STAND_IN(hipDevicePrimaryCtxReset), { -1, NULL },
};
