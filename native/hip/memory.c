/* Memory calls that take structures: three-dimensional allocations, copies and fills, and memory of another process. */
#define _GNU_SOURCE
#include "hip/watch.h"

hipError_t rec_hipMalloc3D(hipPitchedPtr *result, hipExtent extent)
{
    struct gdx_open open;
    if (gdx_hip_begin(&open, GDX_CALL_hipMalloc3D, __builtin_return_address(0))) {
        const uint64_t words[] = { 0, 0, extent.width, extent.height, extent.depth, 0 };
        memcpy(open.slot->w, words, sizeof words);
        gdx_commit(&open);
    }
    hipError_t status = gdx_hip_next.hipMalloc3D(result, extent);
    if (status == hipSuccess && result && gdx_still_open(&open)) {
        open.slot->w[0] = GDX_HIP_WORD(result->ptr);
        open.slot->w[1] = result->pitch;
        open.slot->w[5] = result->pitch * extent.height * extent.depth;
    }
    gdx_hip_end(&open, status);
    if (status == hipSuccess && result)
        gdx_hip_watch_made(&result->ptr, result->pitch * extent.height * extent.depth, true, status);
    return status;
}

/* What the runtime says is left from an address to the end of its memory. Asked only after a call that succeeded. */
static size_t bytes_behind(void *address)
{
    hipDeviceptr_t base = NULL;
    size_t size = 0;
    if (!gdx_hip_next.hipMemGetAddressRange || gdx_hip_next.hipMemGetAddressRange(&base, &size, address) != hipSuccess)
        return 0;
    return size - (GDX_HIP_WORD(address) - GDX_HIP_WORD(base));
}

hipError_t rec_hipMemPoolImportPointer(void **result, hipMemPool_t pool, hipMemPoolPtrExportData *data)
{
    struct gdx_open open;
    if (gdx_hip_begin(&open, GDX_CALL_hipMemPoolImportPointer, __builtin_return_address(0))) {
        const uint64_t words[] = { 0, GDX_HIP_WORD(pool), 0 };
        memcpy(open.slot->w, words, sizeof words);
        gdx_commit(&open);
    }
    hipError_t status = gdx_hip_next.hipMemPoolImportPointer(result, pool, data);
    if (status == hipSuccess && result && gdx_still_open(&open)) {
        open.slot->w[0] = GDX_HIP_WORD(*result);
        open.slot->w[2] = bytes_behind(*result);
    }
    gdx_hip_end(&open, status);
    gdx_hip_watch_cannot(result ? GDX_HIP_WORD(*result) : 0, 0, "memory of another process", status);
    return status;
}

/* driver_types.h, hipExternalMemoryBufferDesc: these two come first in every version. */
struct external { uint64_t offset, size; };

hipError_t rec_hipExternalMemoryGetMappedBuffer(void **result, hipExternalMemory_t external_memory,
                                                const hipExternalMemoryBufferDesc *description)
{
    struct gdx_open open;
    struct external part = { 0, 0 };
    if (gdx_hip_begin(&open, GDX_CALL_hipExternalMemoryGetMappedBuffer, __builtin_return_address(0))) {
        if (!description || !gdx_read(&open.lane->reader, &part, description, sizeof part)) {
            part = (struct external){ 0, 0 };
            open.slot->flags |= GDX_FLAG_cut;
        }
        const uint64_t words[] = { 0, GDX_HIP_WORD(external_memory), part.offset, part.size };
        memcpy(open.slot->w, words, sizeof words);
        gdx_commit(&open);
    }
    hipError_t status = gdx_hip_next.hipExternalMemoryGetMappedBuffer(result, external_memory, description);
    if (status == hipSuccess && result && gdx_still_open(&open))
        open.slot->w[0] = GDX_HIP_WORD(*result);
    gdx_hip_end(&open, status);
    gdx_hip_watch_cannot(result ? GDX_HIP_WORD(*result) : 0, part.size, "memory of another API", status);
    return status;
}

/* The size is not told; the runtime is asked for it after success. */
hipError_t rec_hipIpcOpenMemHandle(void **result, hipIpcMemHandle_t handle, unsigned int flags)
{
    struct gdx_open open;
    size_t size = 0;
    if (gdx_hip_begin(&open, GDX_CALL_hipIpcOpenMemHandle, __builtin_return_address(0))) {
        open.slot->w[0] = open.slot->w[2] = 0;
        open.slot->w[1] = flags;
        gdx_commit(&open);
    }
    hipError_t status = gdx_hip_next.hipIpcOpenMemHandle(result, handle, flags);
    if (status == hipSuccess && result && gdx_still_open(&open)) {
        open.slot->w[0] = GDX_HIP_WORD(*result);
        open.slot->w[2] = size = bytes_behind(*result);
    }
    gdx_hip_end(&open, status);
    gdx_hip_watch_cannot(result ? GDX_HIP_WORD(*result) : 0, size, "memory of another process", status);
    return status;
}

/* ---- copies ---- */

/* HIP runtime API, hipMemcpy3DParms: a side is an array, or memory with a pitch; the first byte is at
 * (z * rows + y) * pitch + x. For an array it is its handle, and the structure has the rest. */
static uint64_t first_byte(hipArray_t array, hipPos pos, const hipPitchedPtr *side)
{
    return array ? GDX_HIP_WORD(array)
                 : GDX_HIP_WORD(side->ptr) + (pos.z * side->ysize + pos.y) * side->pitch + pos.x;
}

enum { ARRAY = 3 };

static uint64_t kinds_of(const hipMemcpy3DParms *copy)
{
    uint64_t kinds = gdx_hip_kinds(copy->kinds);
    if (copy->src_array)
        kinds = (kinds & 0xff00) | ARRAY;
    return copy->dst_array ? (kinds & 0xff) | ARRAY << 8 : kinds;
}

static void put_copy(struct gdx_open *open, uint64_t queue, const hipMemcpy3DParms *given)
{
    const uint64_t words[GDX_WORDS] = { queue };
    hipMemcpy3DParms own;
    memcpy(open->slot->w, words, sizeof words);
    gdx_show(open);
    if (!given || !gdx_read(&open->lane->reader, &own, given, sizeof own)) {
        open->slot->flags |= GDX_FLAG_cut;
        return;
    }
    const uint64_t known[] = {
        queue, first_byte(own.src_array, own.src_pos, &own.src), first_byte(own.dst_array, own.dst_pos, &own.dst),
        own.src.pitch, own.dst.pitch, own.extent.width, own.extent.height, own.extent.depth, kinds_of(&own),
    };
    memcpy(open->slot->w, known, sizeof known);
    gdx_put(open, 0, &own, sizeof own);
}

#define COPY(name, call, parameter, queue, own_thread, ...)                                             \
    hipError_t rec_##name(const hipMemcpy3DParms *copy parameter)                                       \
    {                                                                                                   \
        struct gdx_open open;                                                                           \
        if (gdx_hip_begin(&open, GDX_CALL_##call, __builtin_return_address(0))) {                       \
            put_copy(&open, gdx_hip_queue(queue, own_thread), copy);                                    \
            gdx_commit(&open);                                                                          \
        }                                                                                               \
        hipError_t status = gdx_hip_next.name(__VA_ARGS__);                                             \
        gdx_hip_watch_submitted(queue, own_thread, status);                                             \
        gdx_hip_end_on(&open, queue, own_thread, status);                                               \
        return status;                                                                                  \
    }
#define NOTHING
#define STREAM , hipStream_t queue
COPY(hipMemcpy3D, hipMemcpy3D, NOTHING, NULL, false, copy)
COPY(hipMemcpy3D_spt, hipMemcpy3D, NOTHING, NULL, true, copy)
COPY(hipMemcpy3DAsync, hipMemcpy3DAsync, STREAM, queue, false, copy, queue)
COPY(hipMemcpy3DAsync_spt, hipMemcpy3DAsync, STREAM, queue, true, copy, queue)

/* ---- fills ---- */

static void put_fill(struct gdx_open *open, uint64_t queue, const hipPitchedPtr *dst, int value, hipExtent extent)
{
    const uint64_t words[GDX_WORDS] = {
        queue, GDX_HIP_WORD(dst->ptr), dst->pitch, (uint64_t)(int64_t)value, extent.width, extent.height, extent.depth,
        dst->ysize, 0,
    };
    memcpy(open->slot->w, words, sizeof words);
}

#define FILL(name, call, parameter, queue, own_thread, ...)                                             \
    hipError_t rec_##name(hipPitchedPtr dst, int value, hipExtent extent parameter)                     \
    {                                                                                                   \
        struct gdx_open open;                                                                           \
        if (gdx_hip_begin(&open, GDX_CALL_##call, __builtin_return_address(0))) {                       \
            put_fill(&open, gdx_hip_queue(queue, own_thread), &dst, value, extent);                     \
            gdx_commit(&open);                                                                          \
        }                                                                                               \
        hipError_t status = gdx_hip_next.name(__VA_ARGS__);                                             \
        gdx_hip_watch_submitted(queue, own_thread, status);                                             \
        gdx_hip_end_on(&open, queue, own_thread, status);                                               \
        return status;                                                                                  \
    }
FILL(hipMemset3D, hipMemset3D, NOTHING, NULL, false, dst, value, extent)
FILL(hipMemset3D_spt, hipMemset3D, NOTHING, NULL, true, dst, value, extent)
FILL(hipMemset3DAsync, hipMemset3DAsync, STREAM, queue, false, dst, value, extent, queue)
FILL(hipMemset3DAsync_spt, hipMemset3DAsync, STREAM, queue, true, dst, value, extent, queue)
