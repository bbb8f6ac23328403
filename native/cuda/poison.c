/* Fresh CUDA memory with a pattern in it (native/core/poison.h).
 *
 * An allocation in the order of a stream is filled in that order. Any other is the program's only when the fill has ended, in a
 * stream of ours: a fill that came later would overwrite what the program wrote. Where the device has no time for it, the program
 * gets other memory, without a fill. Nothing is filled while a stream is captured. */
#define _GNU_SOURCE
#include <errno.h>

#include "core/poison.h"
#include "cuda/fence.h"

enum { ATTACH_HOST = 2 };  /* CU_MEM_ATTACH_HOST: the device may not use it yet */
static const char captured[] = "made while a stream was captured", refused[] = "the driver refused to fill it",
    late[] = "the device did not fill it in time";

/* What we stand in front of: the driver, or fence.c. */
static struct gdx_cu_table below;

static bool capturing(void)
{
    return atomic_load(&gdx_cu_captures) > 0;
}

static void told(CUdeviceptr address, size_t bytes, const char *why)
{
    if (why)
        gdx_poison_note_missing(address, bytes, why);
    else
        gdx_poison_note(address, bytes);
}

/* ---- on the device ---- */

typedef CUresult fill8(CUdeviceptr, unsigned char, size_t, CUstream);
typedef CUresult fill16(CUdeviceptr, unsigned short, size_t, CUstream);

/* Memory begins at an even address. */
static CUresult fill(CUdeviceptr address, size_t bytes, CUstream queue, fill16 *halves, fill8 *odd)
{
    CUresult status = halves && odd ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    if (status == CUDA_SUCCESS && bytes / 2)
        status = halves(address, gdx_poison(), bytes / 2, queue);
    if (status == CUDA_SUCCESS && bytes % 2)
        status = odd(address + bytes - 1, (unsigned char)gdx_poison(), 1, queue);
    return status;
}

/* NULL: done. `late`: it may still be filled. */
static const char *fill_now(CUdeviceptr address, size_t bytes)
{
    CUcontext context = NULL;
    if (capturing())
        return captured;
    CUstream own = gdx_cu_driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context ? gdx_cu_own_stream(context) : NULL;
    if (!own || fill(address, bytes, own, gdx_cu_driver.cuMemsetD16Async, gdx_cu_driver.cuMemsetD8Async) != CUDA_SUCCESS)
        return refused;
    CUresult status = gdx_cu_wait_some(own);
    return status == CUDA_SUCCESS ? NULL : status == CUDA_ERROR_NOT_READY ? late : refused;
}

/* Memory that is filled too late is left to the device: a free would wait for it. */
#define NOW(name, size, parameters, ...)                                             \
    static CUresult poisoned_##name parameters                                       \
    {                                                                                \
        CUresult status = below.name(__VA_ARGS__);                                   \
        if (status != CUDA_SUCCESS || !gdx_on())                                     \
            return status;                                                           \
        int saved = errno;                                                           \
        const char *why = fill_now(*result, size);                                   \
        if (why == late)                                                             \
            status = below.name(__VA_ARGS__);                                        \
        if (status == CUDA_SUCCESS)                                                  \
            told(*result, size, why);                                                \
        errno = saved;                                                               \
        return status;                                                               \
    }
NOW(cuMemAlloc_v2, bytes, (CUdeviceptr *result, size_t bytes), result, bytes)
NOW(cuMemAllocPitch_v2, *pitch *height,
    (CUdeviceptr *result, size_t *pitch, size_t width, size_t height, unsigned int element), result, pitch, width, height,
    element)

static CUresult poisoned_cuMemAllocManaged(CUdeviceptr *result, size_t bytes, unsigned int flags)
{
    CUresult status = below.cuMemAllocManaged(result, bytes, flags);
    if (status != CUDA_SUCCESS || !gdx_on())
        return status;
    int saved = errno;
    const char *why = flags & ATTACH_HOST ? "managed memory for the host alone" : fill_now(*result, bytes);
    if (why == late)
        status = below.cuMemAllocManaged(result, bytes, flags);
    if (status == CUDA_SUCCESS)
        told(*result, bytes, why);
    errno = saved;
    return status;
}

/* ---- in the order of a stream ---- */

#define ORDERED(name, ptsz, parameters, ...)                                                                          \
    static CUresult poisoned_##name parameters                                                                        \
    {                                                                                                                 \
        CUresult status = below.name(__VA_ARGS__);                                                                    \
        if (status != CUDA_SUCCESS || !gdx_on())                                                                      \
            return status;                                                                                            \
        bool filled = !capturing()                                                                                    \
            && fill(*result, bytes, queue, gdx_cu_driver.cuMemsetD16Async##ptsz, gdx_cu_driver.cuMemsetD8Async##ptsz) \
                == CUDA_SUCCESS;                                                                                      \
        told(*result, bytes, filled ? NULL : capturing() ? captured : refused);                                       \
        return status;                                                                                                \
    }
ORDERED(cuMemAllocAsync, , (CUdeviceptr *result, size_t bytes, CUstream queue), result, bytes, queue)
ORDERED(cuMemAllocAsync_ptsz, _ptsz, (CUdeviceptr *result, size_t bytes, CUstream queue), result, bytes, queue)
ORDERED(cuMemAllocFromPoolAsync, , (CUdeviceptr *result, size_t bytes, CUmemoryPool pool, CUstream queue), result, bytes, pool,
        queue)
ORDERED(cuMemAllocFromPoolAsync_ptsz, _ptsz, (CUdeviceptr *result, size_t bytes, CUmemoryPool pool, CUstream queue), result,
        bytes, pool, queue)

/* ---- on the host ---- */

#define ON_HOST(name, parameters, ...)                                  \
    static CUresult poisoned_##name parameters                          \
    {                                                                   \
        CUresult status = below.name(__VA_ARGS__);                      \
        if (status == CUDA_SUCCESS && gdx_on()) {                       \
            gdx_poison_fill(*result, bytes);                            \
            told(GDX_CU_WORD(*result), bytes, NULL);                    \
        }                                                               \
        return status;                                                  \
    }
ON_HOST(cuMemAllocHost_v2, (void **result, size_t bytes), result, bytes)
ON_HOST(cuMemHostAlloc, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)

/* ---- what is not filled ---- */

static CUresult poisoned_cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                                  unsigned long long flags)
{
    CUresult status = below.cuMemMap(address, size, offset, handle, flags);
    if (status == CUDA_SUCCESS && gdx_on())
        told(address, size, "mapped by the program itself");
    return status;
}

/* ---- what comes back ---- */

#define BACK(name)                                                                                  \
    static CUresult poisoned_##name(void *dst, CUdeviceptr src, size_t size)                        \
    {                                                                                               \
        CUresult status = below.name(dst, src, size);                                               \
        if (status == CUDA_SUCCESS && gdx_on())                                                     \
            gdx_poison_came_back(src - src % 4, src % 4, dst, size);                                \
        return status;                                                                              \
    }
BACK(cuMemcpyDtoH_v2)
BACK(cuMemcpyDtoH_v2_ptds)

#define STAND_IN(name) { GDX_CU_##name, (void *)poisoned_##name }
static const struct gdx_cu_stand_in own[] = {
    STAND_IN(cuMemAlloc_v2), STAND_IN(cuMemAllocPitch_v2), STAND_IN(cuMemAllocManaged), STAND_IN(cuMemAllocAsync),
    STAND_IN(cuMemAllocAsync_ptsz), STAND_IN(cuMemAllocFromPoolAsync), STAND_IN(cuMemAllocFromPoolAsync_ptsz),
    STAND_IN(cuMemAllocHost_v2), STAND_IN(cuMemHostAlloc), STAND_IN(cuMemMap), STAND_IN(cuMemcpyDtoH_v2),
    STAND_IN(cuMemcpyDtoH_v2_ptds), { -1, NULL },
};

static bool can_fill(void *const *functions)
{
    return functions[GDX_CU_cuMemsetD16Async] && functions[GDX_CU_cuMemsetD8Async] && functions[GDX_CU_cuStreamCreate]
        && functions[GDX_CU_cuStreamQuery] && functions[GDX_CU_cuStreamDestroy_v2] && functions[GDX_CU_cuCtxGetCurrent];
}

void gdx_cu_poison_table(void **functions)
{
    if (!gdx_poisons() || !can_fill(functions))
        return;
    if (!gdx_fence_edge())
        gdx_cu_put(functions, gdx_cu_around);  /* our streams end with their contexts */
    memcpy(&below, functions, sizeof below);
    gdx_cu_put(functions, own);
}
