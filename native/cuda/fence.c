/* Fenced blocks: made with the driver's virtual memory management (CUDA driver API reference, "Virtual Memory
 * Management"), one mapping each, in the middle of a reservation that is one granule longer at both ends.
 *
 * Whatever stands in the way of a fence, the program's allocation goes to the driver as it came, and is counted: so a
 * failing allocation fails with the driver's own status. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>
#include <time.h>

#include "core/clock.h"
#include "cuda/driver.h"

enum { DEVICES = 64, PATIENCE_MS = 2000, SLACK_SHARE = 4 };

__thread uint16_t gdx_cu_fence_mark __attribute__((tls_model("initial-exec")));

/* What fences cost in device memory, in bytes. */
static _Atomic uint64_t slack_in_use;

/* ---- devices ---- */

struct about { _Atomic uint64_t granule, memory; _Atomic int known, rdma, pools; };
static struct about devices[DEVICES];

static int attribute(CUdevice device, CUdevice_attribute what)
{
    int value = 0;
    return gdx_cu_driver.cuDeviceGetAttribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

static CUmemAllocationProp properties_of(CUdevice device)
{
    return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = { CU_MEM_LOCATION_TYPE_DEVICE, device },
                                  .rdma = (unsigned char)atomic_load(&devices[device].rdma) };
}

/* Memory of cuMemAlloc can be reached by other devices on the bus; ours is to be no different where that is possible. */
static void ask(CUdevice device, struct about *about)
{
    size_t granule = 0, memory = 0;
    about->rdma = attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
    about->pools = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
    CUmemAllocationProp properties = properties_of(device);
    if (attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
        && gdx_cu_driver.cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)
               == CUDA_SUCCESS
        && gdx_cu_driver.cuDeviceTotalMem_v2(&memory, device) == CUDA_SUCCESS) {
        about->memory = memory;
        about->granule = granule;
    }
    atomic_store(&about->known, 1);
}

/* NULL: no fences on this device. Two threads that ask at once get the same answers. */
static const struct about *about(CUdevice device)
{
    if (device < 0 || device >= DEVICES)
        return NULL;
    if (!atomic_load(&devices[device].known))
        ask(device, &devices[device]);
    return devices[device].granule ? &devices[device] : NULL;
}

static int current_device(void)
{
    CUdevice device = -1;
    return gdx_cu_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* ---- contexts ---- */

struct gdx_cu_visit gdx_cu_visit(CUcontext context)
{
    CUcontext now = NULL;
    if (gdx_cu_driver.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context)
        return (struct gdx_cu_visit){ CUDA_SUCCESS, false };
    CUresult status = gdx_cu_driver.cuCtxPushCurrent_v2(context);
    return (struct gdx_cu_visit){ status, status == CUDA_SUCCESS };
}

void gdx_cu_leave(struct gdx_cu_visit visit)
{
    CUcontext popped;
    if (visit.pushed)
        gdx_cu_driver.cuCtxPopCurrent_v2(&popped);
}

/* ---- making ---- */

bool gdx_cu_grant(const struct gdx_block *block, uint64_t others)
{
    CUmemAccessDesc access[DEVICES + 1];
    size_t count = 0;
    for (int i = 0; i < DEVICES; i++)
        if (i == block->device || others >> i & 1)
            access[count++] = (CUmemAccessDesc){ { CU_MEM_LOCATION_TYPE_DEVICE, i }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    return gdx_cu_driver.cuMemSetAccess(block->mapping, block->mapped, access, count) == CUDA_SUCCESS;
}

/* Physical memory behind the mapping. The handle is let go at once: the memory lives as long as it is mapped. */
static bool put_memory(const struct gdx_block *block)
{
    CUmemAllocationProp properties = properties_of(block->device);
    CUmemGenericAllocationHandle memory;
    if (gdx_cu_driver.cuMemCreate(&memory, block->mapped, &properties, 0) != CUDA_SUCCESS)
        return false;
    CUresult status = gdx_cu_driver.cuMemMap(block->mapping, block->mapped, 0, memory, 0);
    gdx_cu_driver.cuMemRelease(memory);
    return status == CUDA_SUCCESS;
}

static void give_back_addresses(struct gdx_range range)
{
    gdx_cu_driver.cuMemAddressFree(range.address, range.bytes);
}

/* The last step asks the context whether it is well: after a fault of the device an allocation must fail as it would
 * without us, and the steps before are none of a context. */
static bool finish_block(struct gdx_block *block)
{
    bool ordered = block->flags & GDX_BLOCK_ORDERED;
    return gdx_cu_grant(block, gdx_cu_peers(block->device, ordered)) && gdx_cu_canary_fill(block) == CUDA_SUCCESS
        && gdx_block_add(block);
}

static enum gdx_fence_count make_block(struct gdx_block *block)
{
    CUdeviceptr range;
    struct gdx_range whole = gdx_fence_range(block);
    if (gdx_cu_driver.cuMemAddressReserve(&range, whole.bytes, 0, 0, 0) != CUDA_SUCCESS)
        return GDX_UNFENCED_addresses;
    gdx_fence_move(block, range);
    whole = gdx_fence_range(block);
    if (!put_memory(block)) {
        give_back_addresses(whole);
        return GDX_UNFENCED_memory;
    }
    if (finish_block(block))
        return GDX_FENCED;
    gdx_cu_driver.cuMemUnmap(block->mapping, block->mapped);
    give_back_addresses(whole);
    return GDX_UNFENCED_other;
}

/* A block takes whole granules. Small ones must not take the memory that the program's next large one needs, so the slack
 * of all together is limited to a share of the device. */
static bool take_slack(const struct gdx_block *block, const struct about *device)
{
    uint64_t more = block->mapped - block->bytes;
    if (atomic_fetch_add(&slack_in_use, more) + more <= device->memory / SLACK_SHARE)
        return true;
    atomic_fetch_sub(&slack_in_use, more);
    return false;
}

static void return_slack(const struct gdx_block *block)
{
    atomic_fetch_sub(&slack_in_use, block->mapped - block->bytes);
}

/* GDX_FENCED: done. Else the reason why the driver is to be called as it would have been. */
static enum gdx_fence_count allocate(CUdeviceptr *result, size_t bytes, CUdevice device, uint16_t flags)
{
    CUcontext context = NULL;
    gdx_cu_fence_mark = 0;
    if (!result || !gdx_blocks_ready() || gdx_cu_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return GDX_UNFENCED_other;
    if (atomic_load(&gdx_cu_captures) > 0)
        return GDX_UNFENCED_captured;  /* ours are not among the calls that a capture allows */
    const struct about *known = about(device);
    if (!known)
        return GDX_UNFENCED_unsupported;
    struct gdx_block block = { .device = device, .context = GDX_CU_WORD(context), .flags = flags };
    if (!gdx_fence_place(&block, bytes, known->granule))
        return GDX_UNFENCED_other;
    if (!take_slack(&block, known))
        return GDX_UNFENCED_memory;
    gdx_fence_granule(known->granule);
    enum gdx_fence_count done = make_block(&block);
    if (done != GDX_FENCED) {
        return_slack(&block);
        return done;
    }
    *result = block.address;
    gdx_cu_fence_mark = GDX_FLAG_fenced;
    gdx_fence_counted(GDX_FENCED);
    return GDX_FENCED;
}

static CUresult unfenced(enum gdx_fence_count why, CUresult status)
{
    if (status == CUDA_SUCCESS)
        gdx_fence_counted(why);
    return status;
}

/* ---- unmaking ---- */

static void quarantine(const struct gdx_block *block)
{
    struct gdx_range range = gdx_fence_range(block), oldest;
    for (bool over = gdx_quarantine(&range, &oldest); over; over = gdx_quarantine(NULL, &oldest)) {
        give_back_addresses(oldest);
        gdx_fence_counted(GDX_GIVEN_BACK);
    }
}

/* No work may use the block any more. */
static CUresult unmake(const struct gdx_block *block)
{
    CUresult status = gdx_cu_driver.cuMemUnmap(block->mapping, block->mapped);
    if (status != CUDA_SUCCESS)
        return status;
    return_slack(block);
    quarantine(block);
    return CUDA_SUCCESS;
}

/* The program has freed it, but it cannot go yet: it is not the program's any more, and goes when no work can use it. */
static CUresult left_dead(void)
{
    gdx_fence_counted(GDX_FREED_LATER);
    return CUDA_SUCCESS;
}

static CUresult unmake_later(struct gdx_block *block)
{
    block->flags |= GDX_BLOCK_DEAD;
    gdx_block_add(block);
    return left_dead();
}

static CUresult unmake_now(struct gdx_block *block)
{
    CUresult status = gdx_cu_canary_check(block);
    return status == CUDA_SUCCESS ? unmake(block) : status;
}

void gdx_cu_end_dead(CUcontext context)
{
    struct gdx_block block;
    while (gdx_block_take_dead(GDX_CU_WORD(context), &block))
        unmake(&block);
}

void gdx_cu_end_blocks(CUcontext context)
{
    struct gdx_block block;
    gdx_cu_canary_forget(context);
    while (gdx_block_take_any(GDX_CU_WORD(context), &block))
        unmake(&block);
}

/* CUDA C++ Programming Guide, "Implicit Synchronization": a free of device memory waits for the device. So does this. */
static CUresult free_waiting(struct gdx_block *block)
{
    CUcontext context = (CUcontext)(uintptr_t)block->context;
    struct gdx_cu_visit visit = gdx_cu_visit(context);
    CUresult status = visit.status;
    if (status == CUDA_SUCCESS)
        status = gdx_cu_driver.cuCtxSynchronize();
    if (status == CUDA_SUCCESS)
        status = unmake_now(block);
    if (status == CUDA_SUCCESS)
        gdx_cu_end_dead(context);
    gdx_cu_leave(visit);
    return status;
}

/* A free in the order of a stream does not wait in the driver; here it does, so that a use after it is a fault. Not for
 * ever: the stream may itself be waiting for what the program does next. */
static CUresult wait_for(CUstream queue)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_MS * 1000000ull;
    CUresult status = gdx_cu_driver.cuStreamQuery(queue);
    while (status == CUDA_ERROR_NOT_READY && gdx_clock_ns(CLOCK_MONOTONIC) < until) {
        nanosleep(&pause, NULL);
        status = gdx_cu_driver.cuStreamQuery(queue);
    }
    return status;
}

static CUresult free_ordered(struct gdx_block *block, CUstream queue)
{
    CUresult status = wait_for(queue);
    if (status == CUDA_ERROR_NOT_READY)
        return unmake_later(block);
    struct gdx_cu_visit visit = gdx_cu_visit((CUcontext)(uintptr_t)block->context);
    if (status == CUDA_SUCCESS)
        status = visit.status;
    if (status == CUDA_SUCCESS)
        status = unmake_now(block);
    gdx_cu_leave(visit);
    return status;
}

/* A block that could not be freed is the program's again, as it would be with the driver's own. */
static CUresult or_keep(struct gdx_block *block, CUresult status)
{
    if (status != CUDA_SUCCESS)
        gdx_block_add(block);
    return status;
}

/* ---- in front of the driver ---- */

static CUresult fenced_cuMemAlloc_v2(CUdeviceptr *result, size_t bytes)
{
    enum gdx_fence_count done = allocate(result, bytes, current_device(), 0);
    return done == GDX_FENCED ? CUDA_SUCCESS : unfenced(done, gdx_cu_driver.cuMemAlloc_v2(result, bytes));
}

/* How long a row is only the driver knows: it is asked with one row. */
static size_t pitch_of(size_t width, unsigned int element)
{
    CUdeviceptr row;
    size_t pitch = 0;
    if (gdx_cu_driver.cuMemAllocPitch_v2(&row, &pitch, width, 1, element) != CUDA_SUCCESS)
        return 0;
    gdx_cu_driver.cuMemFree_v2(row);
    return pitch;
}

static CUresult fenced_cuMemAllocPitch_v2(CUdeviceptr *result, size_t *pitch, size_t width, size_t height,
                                          unsigned int element)
{
    enum gdx_fence_count done = atomic_load(&gdx_cu_captures) > 0 ? GDX_UNFENCED_captured : GDX_UNFENCED_other;
    size_t row = pitch && height && done == GDX_UNFENCED_other ? pitch_of(width, element) : 0, bytes;
    gdx_cu_fence_mark = 0;
    if (row && !__builtin_mul_overflow(row, height, &bytes))
        done = allocate(result, bytes, current_device(), 0);
    if (done != GDX_FENCED)
        return unfenced(done, gdx_cu_driver.cuMemAllocPitch_v2(result, pitch, width, height, element));
    *pitch = row;
    return CUDA_SUCCESS;
}

/* A stream of another context would put the block elsewhere; one that is no stream is for the driver to refuse. */
static bool is_here(CUstream queue)
{
    CUcontext now = NULL, its = NULL;
    if (GDX_CU_WORD(queue) <= CU_STREAM_PER_THREAD)
        return true;
    return gdx_cu_driver.cuStreamGetCtx && gdx_cu_driver.cuStreamGetCtx(queue, &its) == CUDA_SUCCESS
        && gdx_cu_driver.cuCtxGetCurrent(&now) == CUDA_SUCCESS && its == now;
}

static enum gdx_fence_count allocate_ordered(CUdeviceptr *result, size_t bytes, CUdevice device, CUstream queue)
{
    gdx_cu_fence_mark = 0;
    if (atomic_load(&gdx_cu_captures) > 0)
        return GDX_UNFENCED_captured;
    if (device < 0 || !is_here(queue))
        return GDX_UNFENCED_other;
    const struct about *known = about(device);
    return known && known->pools ? allocate(result, bytes, device, GDX_BLOCK_ORDERED) : GDX_UNFENCED_unsupported;
}

#define ALLOC_ASYNC(name)                                                                                          \
    static CUresult fenced_##name(CUdeviceptr *result, size_t bytes, CUstream queue)                               \
    {                                                                                                              \
        enum gdx_fence_count done = allocate_ordered(result, bytes, current_device(), queue);                      \
        return done == GDX_FENCED ? CUDA_SUCCESS : unfenced(done, gdx_cu_driver.name(result, bytes, queue));       \
    }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)

#define ALLOC_FROM_POOL(name)                                                                                      \
    static CUresult fenced_##name(CUdeviceptr *result, size_t bytes, CUmemoryPool pool, CUstream queue)            \
    {                                                                                                              \
        enum gdx_fence_count done = allocate_ordered(result, bytes, gdx_cu_pool_device(pool), queue);              \
        return done == GDX_FENCED ? CUDA_SUCCESS : unfenced(done, gdx_cu_driver.name(result, bytes, pool, queue)); \
    }
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)

static CUresult fenced_cuMemAllocManaged(CUdeviceptr *result, size_t bytes, unsigned int flags)
{
    bool ready = gdx_blocks_ready();
    CUresult status = gdx_cu_driver.cuMemAllocManaged(result, bytes, flags);
    return ready ? unfenced(GDX_UNFENCED_managed, status) : status;
}

static CUresult fenced_cuMemFree_v2(CUdeviceptr address)
{
    struct gdx_block block;
    enum gdx_taken taken = address ? gdx_block_take(address, 0, &block) : GDX_NOT_THERE;
    if (taken == GDX_NOT_THERE)
        return gdx_cu_driver.cuMemFree_v2(address);
    if (taken == GDX_LEFT_DEAD)
        return left_dead();
    if (atomic_load(&gdx_cu_captures) > 0)
        return unmake_later(&block);  /* a wait would spoil the capture */
    return or_keep(&block, free_waiting(&block));
}

static CUresult free_async(CUdeviceptr address, CUstream queue, bool own_thread, CUresult (*real)(CUdeviceptr, CUstream))
{
    struct gdx_block block;
    bool capturing = atomic_load(&gdx_cu_captures) > 0;
    bool ours = address && !(capturing && gdx_cu_is_captured(queue, own_thread));
    enum gdx_taken taken = ours ? gdx_block_take(address, GDX_BLOCK_ORDERED, &block) : GDX_NOT_THERE;
    if (taken == GDX_NOT_THERE)
        return real(address, queue);
    if (taken == GDX_LEFT_DEAD)
        return left_dead();
    if (capturing)
        return unmake_later(&block);
    return or_keep(&block, free_ordered(&block, (CUstream)(uintptr_t)gdx_cu_queue(queue, own_thread)));
}

static CUresult fenced_cuMemFreeAsync(CUdeviceptr address, CUstream queue)
{
    return free_async(address, queue, false, gdx_cu_driver.cuMemFreeAsync);
}

static CUresult fenced_cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream queue)
{
    return free_async(address, queue, true, gdx_cu_driver.cuMemFreeAsync_ptsz);
}

/* ---- the table ---- */

#define STAND_IN(name) { GDX_CU_##name, (void *)fenced_##name }
static const struct gdx_cu_stand_in own[] = {
    STAND_IN(cuMemAlloc_v2), STAND_IN(cuMemAllocPitch_v2), STAND_IN(cuMemFree_v2), STAND_IN(cuMemAllocAsync),
    STAND_IN(cuMemAllocAsync_ptsz), STAND_IN(cuMemAllocFromPoolAsync), STAND_IN(cuMemAllocFromPoolAsync_ptsz),
    STAND_IN(cuMemFreeAsync), STAND_IN(cuMemFreeAsync_ptsz), STAND_IN(cuMemAllocManaged), { -1, NULL },
};

/* Drivers before CUDA 10.2 have no virtual memory management. */
static bool can_fence(void *const *functions)
{
    static const int needed[] = {
        GDX_CU_cuMemAddressReserve, GDX_CU_cuMemAddressFree, GDX_CU_cuMemCreate, GDX_CU_cuMemRelease, GDX_CU_cuMemMap,
        GDX_CU_cuMemUnmap, GDX_CU_cuMemSetAccess, GDX_CU_cuMemGetAllocationGranularity, GDX_CU_cuMemAlloc_v2,
        GDX_CU_cuMemFree_v2, GDX_CU_cuCtxGetCurrent, GDX_CU_cuCtxGetDevice, GDX_CU_cuCtxPushCurrent_v2,
        GDX_CU_cuCtxPopCurrent_v2, GDX_CU_cuCtxSynchronize, GDX_CU_cuDeviceGetAttribute, GDX_CU_cuDeviceTotalMem_v2,
        GDX_CU_cuStreamCreate, GDX_CU_cuStreamDestroy_v2, GDX_CU_cuStreamQuery, GDX_CU_cuStreamSynchronize,
        GDX_CU_cuMemcpyHtoDAsync_v2, GDX_CU_cuMemcpyDtoHAsync_v2,
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!functions[needed[i]])
            return false;
    return true;
}

static void put(void **functions, const struct gdx_cu_stand_in *list)
{
    for (; list->number >= 0; list++)
        if (functions[list->number])
            functions[list->number] = list->function;
}

void gdx_cu_fence_table(void **functions)
{
    if (!gdx_fence_policy() || !can_fence(functions))
        return;
    put(functions, own);
    put(functions, gdx_cu_around);
    put(functions, gdx_cu_looking);
}

void gdx_cu_fence_forget(void)
{
    for (int i = 0; i < DEVICES; i++)
        atomic_store(&devices[i].known, 0);
    atomic_store(&slack_in_use, 0);
    gdx_cu_canary_forget(NULL);
    gdx_cu_around_forget();
    gdx_blocks_forget();
}
