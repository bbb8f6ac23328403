/* What a program can see of its memory besides using it stays as it was: how large it is, which copies are refused because
 * they are longer than it, which devices reach it, and that it ends with its device's reset. */
#define _GNU_SOURCE
#include "hip/red.h"

/* ---- sizes ---- */

static hipError_t around_hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t address)
{
    struct gdx_block block;
    hipError_t status = gdx_hip_driver.hipMemGetAddressRange(base, size, address);
    if (status != hipSuccess || !gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        return status;
    if (base)
        *base = (hipDeviceptr_t)(uintptr_t)block.address;
    if (size)
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
    if (!gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        return;
    if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(uint64_t *)value = block.address;
    if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_SIZE)
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

/* ---- other processes, other devices ---- */

/* Mapped memory cannot be given to another process in this way. The runtime says no, the program sees that, and the report
 * says why. */
static hipError_t around_hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *address)
{
    struct gdx_block block;
    hipError_t status = gdx_hip_driver.hipIpcGetMemHandle(handle, address);
    if (status != hipSuccess && gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(address), &block))
        gdx_fence_count(&gdx_hip_fences, GDX_COUNT_SHARED);
    return status;
}

/* For each device, a bit for each other one that may access its memory. Permission that is taken back later stays: that can
 * hide a fault, but makes none. */
static _Atomic uint64_t peers[GDX_HIP_DEVICES];

uint64_t gdx_hip_peers(int device)
{
    return atomic_load(&peers[device]);
}

static void grant_all(int owner)
{
    struct gdx_block block;
    for (uint32_t i = 0; gdx_block_number(&gdx_hip_fences, i, &block); i++)
        if (block.device == owner && !(block.flags & (GDX_BLOCK_DEAD | GDX_BLOCK_RED)))
            gdx_hip_grant(&block, gdx_hip_peers(owner));
}

static void now_peers(int owner, hipError_t status)
{
    int own = -1;
    if (status != hipSuccess || owner < 0 || owner >= GDX_HIP_DEVICES || gdx_hip_driver.hipGetDevice(&own) != hipSuccess
        || own < 0 || own >= GDX_HIP_DEVICES)
        return;
    atomic_fetch_or(&peers[owner], 1ull << own);
    grant_all(owner);
}

static hipError_t around_hipDeviceEnablePeerAccess(int owner, unsigned int flags)
{
    hipError_t status = gdx_hip_driver.hipDeviceEnablePeerAccess(owner, flags);
    now_peers(owner, status);
    return status;
}

/* Whose context it is cannot be asked for: so it is taken for every device's. */
static hipError_t around_hipCtxEnablePeerAccess(hipCtx_t peer, unsigned int flags)
{
    int count = 0;
    hipError_t status = gdx_hip_driver.hipCtxEnablePeerAccess(peer, flags);
    if (status == hipSuccess && gdx_hip_driver.hipGetDeviceCount(&count) == hipSuccess)
        for (int owner = 0; owner < count; owner++)
            now_peers(owner, status);
    return status;
}

/* ---- ranges ---- */

/* The runtime refuses a copy or fill that is longer than the memory it begins in (clr, hip_memory.cpp, ihipMemcpy_validate),
 * and ours is longer than the program's. What is too long for the program's is asked for in other memory, of which is known
 * that the runtime refuses it: with its own status, as without us. Whether it does is tried once, where it can do no harm:
 * memory comes in pages. */
enum { UNKNOWN, REFUSES, TAKES, SHORT = 256 };
static _Atomic int refusal, refusal_device;
static _Atomic(void *) too_short;

void gdx_hip_try_refusal(int device)
{
    static char seen[SHORT + 1];
    void *memory = NULL;
    hipStream_t stream = gdx_hip_own_stream(device);
    if (atomic_load(&refusal) || gdx_hip_driver.hipPeekAtLastError() != hipSuccess
        || gdx_hip_driver.hipMalloc(&memory, SHORT) != hipSuccess)
        return;
    bool taken = gdx_hip_driver.hipMemcpyAsync(seen, memory, SHORT + 1, hipMemcpyDeviceToHost, stream) == hipSuccess;
    if (taken)
        gdx_hip_own_ended(device);
    else
        gdx_hip_driver.hipGetLastError();  /* it was ours, and none was there before */
    atomic_store(&too_short, memory);
    atomic_store(&refusal_device, device);
    atomic_store(&refusal, taken ? TAKES : REFUSES);
}

void gdx_hip_around_forget(int device)
{
    if (device < 0 || atomic_load(&refusal_device) == device)
        atomic_store(&refusal, UNKNOWN);
    for (int i = 0; device < 0 && i < GDX_HIP_DEVICES; i++)
        atomic_store(&peers[i], 0);
}

static bool is_too_long(const void *from, size_t bytes)
{
    struct gdx_block block;
    return atomic_load(&refusal) == REFUSES && gdx_block_holding(&gdx_hip_fences, GDX_HIP_WORD(from), &block)
        && bytes > block.address + block.bytes - GDX_HIP_WORD(from);
}

/* `place` and its bytes, as the runtime is to see them. */
#define WHOLE(place, bytes)                     \
    if (is_too_long(place, bytes)) {            \
        place = atomic_load(&too_short);        \
        bytes = SHORT + 1;                      \
    }

/* Copies that wait are waits of the program. */
#define COPY(name, waits, parameters, ...)                              \
    static hipError_t around_##name parameters                          \
    {                                                                   \
        WHOLE(dst, size)                                                \
        WHOLE(src, size)                                                \
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

/* A count of elements that is too large for memory is left to the runtime. */
#define WHOLE_ELEMENTS(count, size)                                                           \
    size_t bytes = count > SIZE_MAX / size ? 0 : count * size;                                \
    WHOLE(dst, bytes)                                                                         \
    count = bytes ? (bytes + size - 1) / size : count;

#define FILL(name, type, size)                                                                \
    static hipError_t around_##name(void *dst, type value, size_t count)                      \
    {                                                                                         \
        WHOLE_ELEMENTS(count, size)                                                           \
        return gdx_hip_driver.name(dst, value, count);                                        \
    }
#define FILL_ASYNC(name, type, size)                                                          \
    static hipError_t around_##name(void *dst, type value, size_t count, hipStream_t queue)   \
    {                                                                                         \
        WHOLE_ELEMENTS(count, size)                                                           \
        return gdx_hip_driver.name(dst, value, count, queue);                                 \
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
    STAND_IN(hipDrvPointerGetAttributes), STAND_IN(hipIpcGetMemHandle), STAND_IN(hipDeviceEnablePeerAccess),
    STAND_IN(hipCtxEnablePeerAccess), STAND_IN(hipMemcpy), STAND_IN(hipMemcpy_spt), STAND_IN(hipMemcpyAsync),
    STAND_IN(hipMemcpyAsync_spt), STAND_IN(hipMemcpyWithStream), STAND_IN(hipMemcpyHtoD), STAND_IN(hipMemcpyDtoH),
    STAND_IN(hipMemcpyDtoD), STAND_IN(hipMemcpyHtoDAsync), STAND_IN(hipMemcpyDtoHAsync), STAND_IN(hipMemcpyDtoDAsync),
    STAND_IN(hipMemcpyPeer), STAND_IN(hipMemcpyPeerAsync), STAND_IN(hipMemset), STAND_IN(hipMemset_spt),
    STAND_IN(hipMemsetD8), STAND_IN(hipMemsetD16), STAND_IN(hipMemsetD32), STAND_IN(hipMemsetAsync),
    STAND_IN(hipMemsetD8Async), STAND_IN(hipMemsetD16Async), STAND_IN(hipMemsetD32Async),
    STAND_IN(hipDeviceReset), STAND_IN(hipDevicePrimaryCtxReset), { -1, NULL },
};
