/* Fresh HIP memory with a pattern in it (native/core/poison.h).
 *
 * An allocation in the order of a stream is filled in that order. Other memory of a device is the program's only when the fill
 * has ended, in a stream of ours; where the device has no time for it, the program gets other memory, without a fill. Managed
 * and host memory is filled by the host. Nothing is filled while a stream is captured. */
#define _GNU_SOURCE
#include <errno.h>

#include "core/poison.h"
#include "hip/red.h"

static const char captured[] = "made while a stream was captured", refused[] = "the runtime refused to fill it",
    late[] = "the device did not fill it in time", flagged[] = "memory with flags";

/* What we stand in front of: the runtime, or red.c. */
static struct gdx_hip_table below;

static bool capturing(void)
{
    return atomic_load(&gdx_hip_captures) > 0;
}

static void told(const void *address, size_t bytes, const char *why)
{
    if (why)
        gdx_poison_note_missing(GDX_HIP_WORD(address), bytes, why);
    else
        gdx_poison_note(GDX_HIP_WORD(address), bytes);
}

/* ---- on the device ---- */

/* Memory begins at an even address. */
static bool fill(void *address, size_t bytes, hipStream_t queue)
{
    bool done = true;
    if (bytes / 2)
        done = gdx_hip_driver.hipMemsetD16Async(address, gdx_poison(), bytes / 2, queue) == hipSuccess;
    if (done && bytes % 2)
        done = gdx_hip_driver.hipMemsetAsync((char *)address + bytes - 1, gdx_poison() & 0xff, 1, queue) == hipSuccess;
    return done;
}

/* NULL: done. `late`: it may still be filled. */
static const char *fill_now(void *address, size_t bytes)
{
    int device = -1;
    if (capturing())
        return captured;
    hipStream_t own = gdx_hip_driver.hipGetDevice(&device) == hipSuccess ? gdx_hip_own_stream(device) : NULL;
    if (!own || !fill(address, bytes, own))
        return refused;
    return gdx_hip_own_ended(device) ? NULL : late;
}

/* Memory that is filled too late is left to the device: a free would wait for it. */
#define NOW(name, address, size, special, parameters, ...)                           \
    static hipError_t poisoned_##name parameters                                     \
    {                                                                                \
        hipError_t status = below.name(__VA_ARGS__);                                 \
        if (status != hipSuccess || !gdx_on() || (size) == 0)                        \
            return status;                                                           \
        int saved = errno;                                                           \
        const char *why = special ? flagged : fill_now(address, size);               \
        if (why == late)                                                             \
            status = below.name(__VA_ARGS__);                                        \
        if (status == hipSuccess)                                                    \
            told(address, size, why);                                                \
        errno = saved;                                                               \
        return status;                                                               \
    }
NOW(hipMalloc, *result, bytes, false, (void **result, size_t bytes), result, bytes)
NOW(hipExtMallocWithFlags, *result, bytes, flags, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
NOW(hipMallocPitch, *result, *pitch *height, false, (void **result, size_t *pitch, size_t width, size_t height), result, pitch,
    width, height)
NOW(hipMemAllocPitch, *result, *pitch *height, false,
    (hipDeviceptr_t *result, size_t *pitch, size_t width, size_t height, unsigned int element), result, pitch, width, height,
    element)
NOW(hipMalloc3D, result->ptr, result->pitch *extent.height *extent.depth, false, (hipPitchedPtr *result, hipExtent extent),
    result, extent)

/* ---- in the order of a stream ---- */

#define ORDERED(name, parameters, ...)                                                                 \
    static hipError_t poisoned_##name parameters                                                       \
    {                                                                                                  \
        hipError_t status = below.name(__VA_ARGS__);                                                   \
        if (status != hipSuccess || !gdx_on() || !bytes)                                               \
            return status;                                                                             \
        bool filled = !capturing() && fill(*result, bytes, queue);                                     \
        told(*result, bytes, filled ? NULL : capturing() ? captured : refused);                        \
        return status;                                                                                 \
    }
ORDERED(hipMallocAsync, (void **result, size_t bytes, hipStream_t queue), result, bytes, queue)
ORDERED(hipMallocFromPoolAsync, (void **result, size_t bytes, hipMemPool_t pool, hipStream_t queue), result, bytes, pool, queue)

/* ---- by the host ---- */

#define ON_HOST(name, parameters, ...)                                  \
    static hipError_t poisoned_##name parameters                        \
    {                                                                   \
        hipError_t status = below.name(__VA_ARGS__);                    \
        if (status == hipSuccess && gdx_on() && bytes) {                \
            gdx_poison_fill(*result, bytes);                            \
            told(*result, bytes, NULL);                                 \
        }                                                               \
        return status;                                                  \
    }
ON_HOST(hipMallocManaged, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
ON_HOST(hipHostMalloc, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
ON_HOST(hipHostAlloc, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
ON_HOST(hipMallocHost, (void **result, size_t bytes), result, bytes)
ON_HOST(hipMemAllocHost, (void **result, size_t bytes), result, bytes)

/* ---- what is not filled ---- */

static hipError_t poisoned_hipMemMap(void *address, size_t size, size_t offset, hipMemGenericAllocationHandle_t physical,
                                     unsigned long long flags)
{
    hipError_t status = below.hipMemMap(address, size, offset, physical, flags);
    if (status == hipSuccess && gdx_on())
        told(address, size, "mapped by the program itself");
    return status;
}

/* ---- what comes back ---- */

/* The direction is only a hint to the runtime, so the host may not be able to read what it says is the host's. */
static hipError_t back(hipError_t status, const void *dst, const void *src, size_t size, hipMemcpyKind kinds)
{
    uint64_t from = GDX_HIP_WORD(src);
    if (status == hipSuccess && kinds == hipMemcpyDeviceToHost && gdx_on())
        gdx_poison_came_back(from - from % 4, from % 4, dst, size);
    return status;
}

#define BACK(name, kinds, parameters, ...)                                              \
    static hipError_t poisoned_##name parameters                                        \
    {                                                                                   \
        return back(below.name(__VA_ARGS__), dst, src, size, kinds);                    \
    }
BACK(hipMemcpy, kinds, (void *dst, const void *src, size_t size, hipMemcpyKind kinds), dst, src, size, kinds)
BACK(hipMemcpy_spt, kinds, (void *dst, const void *src, size_t size, hipMemcpyKind kinds), dst, src, size, kinds)
BACK(hipMemcpyWithStream, kinds, (void *dst, const void *src, size_t size, hipMemcpyKind kinds, hipStream_t queue), dst, src,
     size, kinds, queue)
BACK(hipMemcpyDtoH, hipMemcpyDeviceToHost, (void *dst, hipDeviceptr_t src, size_t size), dst, src, size)

#define STAND_IN(name) { GDX_HIP_##name, (void *)poisoned_##name }
static const struct gdx_hip_stand_in own[] = {
    STAND_IN(hipMalloc), STAND_IN(hipExtMallocWithFlags), STAND_IN(hipMallocPitch), STAND_IN(hipMemAllocPitch),
    STAND_IN(hipMalloc3D), STAND_IN(hipMallocAsync), STAND_IN(hipMallocFromPoolAsync), STAND_IN(hipMallocManaged),
    STAND_IN(hipHostMalloc), STAND_IN(hipHostAlloc), STAND_IN(hipMallocHost), STAND_IN(hipMemAllocHost), STAND_IN(hipMemMap),
    STAND_IN(hipMemcpy), STAND_IN(hipMemcpy_spt), STAND_IN(hipMemcpyWithStream), STAND_IN(hipMemcpyDtoH), { -1, NULL },
};

static bool can_fill(void *const *functions)
{
    return functions[GDX_HIP_hipMemsetD16Async] && functions[GDX_HIP_hipMemsetAsync] && functions[GDX_HIP_hipGetDevice]
        && functions[GDX_HIP_hipStreamCreateWithFlags] && functions[GDX_HIP_hipStreamQuery]
        && functions[GDX_HIP_hipStreamDestroy];
}

void gdx_hip_poison_table(void **functions)
{
    if (!gdx_poisons() || !can_fill(functions))
        return;
    if (!gdx_fence_edge())
        gdx_hip_put(functions, gdx_hip_around);  /* our streams end with their devices */
    memcpy(&below, functions, sizeof below);
    gdx_hip_put(functions, own);
}
