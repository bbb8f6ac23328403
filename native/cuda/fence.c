/* Fenced blocks: made with the driver's virtual memory management (CUDA driver API reference, "Virtual Memory
 * Management"), one mapping each, in the middle of a reservation that is one granule longer at both ends. Where the driver has
 * no such thing, or by choice (--fence=red), they are the driver's own, with a red zone behind each.
 *
 * Whatever stands in the way of a fence, the program's allocation goes to the driver as it came, and is counted: so a
 * failing allocation fails with the driver's own status. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>

#include "core/gave_up.h"
#include "driver/driver.h"

/* CUDA C++ Programming Guide, "Device Memory Accesses": allocations are aligned to 256 bytes, and the widest access of a
 * thread has 16. */
enum { DEVICES = 64, PROMISED_ALIGN = 256, LEAST_ALIGN = 16 };

static void give_back_addresses(struct gdx_range range);

/* Each block takes at least one granule of device memory (2 MB), so there are fewer than this; devices have 47 bits of
 * addresses or more. */
struct gdx_fences gdx_cu_fences = { .blocks_most = 1 << 18, .ranges_most = 1 << 14, .bytes_most = 8ull << 40,
                                    .give_back = give_back_addresses };

/* Why there is no fence. */
static const char managed[] = "managed memory", captured[] = "made while a stream was captured",
    no_memory[] = "not enough device memory", no_addresses[] = "no addresses",
    unsupported[] = "a device without memory pools", unknown_pool[] = "a pool or stream of somebody else's",
    refused[] = "the driver refused a part of the fence", ordered_red[] = "in the order of a stream, where only red zones are";

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

/* Drivers before CUDA 10.2 have no virtual memory management. */
static bool has_mappings(void)
{
    return gdx_cu_driver.cuMemAddressReserve && gdx_cu_driver.cuMemAddressFree && gdx_cu_driver.cuMemCreate
        && gdx_cu_driver.cuMemRelease && gdx_cu_driver.cuMemMap && gdx_cu_driver.cuMemUnmap && gdx_cu_driver.cuMemSetAccess
        && gdx_cu_driver.cuMemGetAllocationGranularity;
}

/* Memory of cuMemAlloc can be reached by other devices on the bus; ours is to be no different where that is possible. */
static void ask(CUdevice device, struct about *about)
{
    size_t granule = 0, memory = 0;
    about->rdma = attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
    about->pools = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
    CUmemAllocationProp properties = properties_of(device);
    if (has_mappings() && attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
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
    if (device < 0 || device >= DEVICES || gdx_fence_edge() == GDX_EDGE_RED)
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
    if (block->flags & GDX_BLOCK_RED)
        return true;  /* the driver's own */
    for (int i = 0; i < DEVICES; i++)
        if (i == block->device || others >> i & 1)
            access[count++] = (CUmemAccessDesc){ { CU_MEM_LOCATION_TYPE_DEVICE, i }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    return gdx_cu_driver.cuMemSetAccess(block->mapping, block->mapped, access, count) == CUDA_SUCCESS;
}

static CUresult unmake(const struct gdx_block *block);

/* Device memory is short: blocks that rest go. True: there were some. */
static bool end_resting(CUcontext context)
{
    struct gdx_block block;
    bool any = false;
    gdx_cu_rest_wait(context);
    while (gdx_cu_rest_take(context, &block))
        any = unmake(&block) == CUDA_SUCCESS || any;
    return any;
}

/* 0: there is none, also after spares were given up. */
static uint64_t make_memory(const struct gdx_block *block)
{
    CUmemAllocationProp properties = properties_of(block->device);
    CUmemGenericAllocationHandle memory = gdx_cu_spare_take(block->device, block->mapped);
    if (memory)
        return memory;
    CUresult status = gdx_cu_driver.cuMemCreate(&memory, block->mapped, &properties, 0);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
        bool more = end_resting((CUcontext)(uintptr_t)block->owner);
        if (gdx_cu_spares_release() || more)
            status = gdx_cu_driver.cuMemCreate(&memory, block->mapped, &properties, 0);
    }
    return status == CUDA_SUCCESS ? memory : 0;
}

/* Physical memory behind the mapping. */
static bool put_memory(struct gdx_block *block)
{
    block->memory = make_memory(block);
    if (!block->memory)
        return false;
    if (gdx_cu_driver.cuMemMap(block->mapping, block->mapped, 0, block->memory, 0) == CUDA_SUCCESS)
        return true;
    gdx_cu_driver.cuMemRelease(block->memory);
    return false;
}

static CUresult take_memory(const struct gdx_block *block)
{
    CUresult status = gdx_cu_driver.cuMemUnmap(block->mapping, block->mapped);
    if (status == CUDA_SUCCESS)
        gdx_cu_spare_keep(block->device, block->mapped, block->memory);
    return status;
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
        && gdx_block_add(&gdx_cu_fences, block);
}

static const char *make_block(struct gdx_block *block)
{
    CUdeviceptr range;
    struct gdx_range whole = gdx_fence_range(block);
    if (gdx_cu_driver.cuMemAddressReserve(&range, whole.bytes, 0, 0, 0) != CUDA_SUCCESS)
        return no_addresses;
    gdx_fence_move(block, range);
    whole = gdx_fence_range(block);
    if (!put_memory(block)) {
        give_back_addresses(whole);
        return no_memory;
    }
    if (finish_block(block))
        return NULL;
    take_memory(block);
    give_back_addresses(whole);
    return refused;
}

/* Nothing is reserved, and no slack counted: a zone is small. */
static const char *allocate_red(CUdeviceptr *result, size_t bytes, struct gdx_block block)
{
    CUdeviceptr made;
    if (!bytes || bytes > SIZE_MAX - GDX_RED_ZONE)
        return refused;
    if (gdx_cu_driver.cuMemAlloc_v2(&made, bytes + GDX_RED_ZONE) != CUDA_SUCCESS)
        return no_memory;
    gdx_red_place(&block, made, bytes);
    if (gdx_cu_canary_fill(&block) != CUDA_SUCCESS || !gdx_block_add(&gdx_cu_fences, &block)) {
        gdx_cu_driver.cuMemFree_v2(made);
        return refused;
    }
    *result = made;
    gdx_fence_note(&block, made, GDX_BLOCK_MADE);
    return NULL;
}

static void tell_extra(void)
{
    gdx_fence_extra(&gdx_cu_fences, atomic_load(&gdx_cu_fences.slack) + gdx_cu_rest_asked());
}

/* A new block, whose slack is counted. */
static const char *make_counted(struct gdx_block *block, uint64_t memory)
{
    bool fits = gdx_slack_take(&gdx_cu_fences, block, memory);
    if (!fits && end_resting((CUcontext)(uintptr_t)block->owner))
        fits = gdx_slack_take(&gdx_cu_fences, block, memory);
    if (!fits)
        return no_memory;
    const char *why = make_block(block);
    if (why)
        gdx_slack_return(&gdx_cu_fences, block);
    else
        tell_extra();
    return why;
}

static CUresult unmake_later(struct gdx_block *block);

/* Is the block's context the current one, and without a fault? After one, allocations and frees must fail as they would without us. */
static bool is_well(const struct gdx_block *block)
{
    CUcontext current = NULL;
    if (gdx_cu_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || GDX_CU_WORD(current) != block->owner)
        return false;
    CUstream own = gdx_cu_own_stream(current);
    CUresult status = own ? gdx_cu_driver.cuStreamQuery(own) : CUDA_ERROR_INVALID_CONTEXT;
    return status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_READY;
}

/* `*block`, which lies in a range that begins at 0, gets the mapping of `old`, which no work uses. What is beside that one is looked
 * at before it is overwritten, if there is time. */
static bool move_in(struct gdx_block *block, struct gdx_block *old, uint64_t memory)
{
    struct gdx_block moved = *block;
    uint64_t began = gdx_look_begins(&gdx_cu_fences);
    if (began) {
        gdx_cu_canary_check(old);
        gdx_look_ended(began);
    }
    gdx_fence_move(&moved, gdx_fence_range(old).address);
    moved.memory = old->memory;
    if (!gdx_slack_take(&gdx_cu_fences, &moved, memory)) {
        unmake(old);
        return false;
    }
    gdx_slack_return(&gdx_cu_fences, old);
    if (gdx_cu_canary_fill(&moved) != CUDA_SUCCESS) {
        unmake(&moved);
        return false;
    }
    *block = moved;
    return true;
}

/* A resting block, or the mapping of one, in a context that is well. */
static bool wake(struct gdx_block *block, CUstream queue, uint64_t memory)
{
    struct gdx_block old, woken = *block;
    if (!gdx_cu_resting() || !is_well(block))
        return false;
    if (gdx_cu_rest_over(block, queue, &old))
        woken = old;
    else if (!gdx_cu_rest_mapping(block, &old) || !move_in(&woken, &old, memory))
        return false;
    if (!gdx_block_add(&gdx_cu_fences, &woken)) {
        unmake_later(&woken);
        return false;
    }
    *block = woken;
    return true;
}

/* NULL: done. Else the reason why the driver is to be called as it would have been. */
static const char *allocate(CUdeviceptr *result, size_t bytes, CUdevice device, uint16_t flags, CUstream queue)
{
    CUcontext context = NULL;
    uint64_t align = gdx_fence_align(PROMISED_ALIGN, LEAST_ALIGN);
    if (!result || !gdx_blocks_ready(&gdx_cu_fences) || gdx_cu_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return refused;
    if (atomic_load(&gdx_cu_captures) > 0)
        return captured;  /* ours are not among the calls that a capture allows */
    const struct about *known = about(device);
    struct gdx_block block = { .device = device, .owner = GDX_CU_WORD(context), .flags = flags };
    if (!known)
        return allocate_red(result, bytes, block);
    if (!gdx_fence_place(&block, bytes, align, known->granule, known->granule))
        return refused;
    if (!(flags & GDX_BLOCK_ORDERED) || !wake(&block, queue, known->memory)) {
        const char *why = make_counted(&block, known->memory);
        if (why)
            return why;
    }
    *result = block.address;
    gdx_fence_note(&block, block.address, GDX_BLOCK_MADE);
    return NULL;
}

/* ---- unmaking ---- */

static CUresult unmake_red(const struct gdx_block *block)
{
    gdx_fence_note(block, block->address, GDX_BLOCK_GIVEN_BACK);  /* before anybody can be given the address again */
    return gdx_cu_driver.cuMemFree_v2(block->address);
}

/* No work may use the block any more. */
static CUresult unmake(const struct gdx_block *block)
{
    if (block->flags & GDX_BLOCK_RED)
        return unmake_red(block);
    CUresult status = take_memory(block);
    if (status != CUDA_SUCCESS)
        return status;
    gdx_slack_return(&gdx_cu_fences, block);
    gdx_fence_note(block, block->address, GDX_BLOCK_FREED);
    gdx_quarantine(&gdx_cu_fences, gdx_fence_range(block));
    return CUDA_SUCCESS;
}

/* The program has freed it, but it cannot go yet: it is not the program's any more, and goes when no work can use it. */
static CUresult unmake_later(struct gdx_block *block)
{
    block->flags |= GDX_BLOCK_DEAD;
    gdx_block_add(&gdx_cu_fences, block);
    return CUDA_SUCCESS;
}

static CUresult unmake_now(struct gdx_block *block)
{
    CUresult status = gdx_cu_canary_check(block);
    return status == CUDA_SUCCESS ? unmake(block) : status;
}

void gdx_cu_end_dead(CUcontext context)
{
    struct gdx_block block;
    while (gdx_block_take_dead(&gdx_cu_fences, GDX_CU_WORD(context), &block))
        unmake(&block);
}

void gdx_cu_end_blocks(CUcontext context)
{
    struct gdx_block block;
    gdx_cu_canary_forget(context);
    while (gdx_cu_rest_end(context, &block))
        unmake(&block);
    while (gdx_block_take_any(&gdx_cu_fences, GDX_CU_WORD(context), &block))
        if (block.flags & GDX_BLOCK_RED)
            gdx_fence_note(&block, block.address, GDX_BLOCK_GIVEN_BACK);  /* gone with its context */
        else
            unmake(&block);
}

/* CUDA C++ Programming Guide, "Implicit Synchronization": a free of device memory waits for the device. So does this. */
static CUresult free_waiting(struct gdx_block *block)
{
    CUcontext context = (CUcontext)(uintptr_t)block->owner;
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

static int ask_stream(void *queue)
{
    return (int)gdx_cu_driver.cuStreamQuery(queue);
}

/* A free in the order of a stream does not wait in the driver; here it does, so that a use after it is a fault. Not for
 * ever: the stream may itself be waiting for what the program does next. */
CUresult gdx_cu_wait_some(CUstream queue)
{
    return (CUresult)gdx_ask_patiently(ask_stream, queue, CUDA_ERROR_NOT_READY);
}

static CUresult free_waiting_for(struct gdx_block *block, CUstream queue)
{
    CUresult status = gdx_cu_wait_some(queue);
    if (status == CUDA_ERROR_NOT_READY) {
        gdx_gave_up(GDX_STAYS_ACCESSIBLE);
        return unmake_later(block);
    }
    struct gdx_cu_visit visit = gdx_cu_visit((CUcontext)(uintptr_t)block->owner);
    if (status == CUDA_SUCCESS)
        status = visit.status;
    if (status == CUDA_SUCCESS)
        status = unmake_now(block);
    gdx_cu_leave(visit);
    return status;
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

/* Where too much rests, the oldest that no work uses goes. */
static bool rest(struct gdx_block *block, CUstream queue, uint64_t memory)
{
    struct gdx_block oldest;
    bool resting = gdx_cu_rest(block, queue, memory);
    if (!resting && gdx_cu_rest_take((CUcontext)(uintptr_t)block->owner, &oldest) && unmake_now(&oldest) == CUDA_SUCCESS)
        resting = gdx_cu_rest(block, queue, memory);
    return resting;
}

static CUresult free_ordered(struct gdx_block *block, CUstream queue)
{
    uint64_t began = gdx_cu_fencing_begins();
    const struct about *known = about(block->device);
    if (known && gdx_cu_fencing_is_dear(began) && is_here(queue) && is_well(block) && rest(block, queue, known->memory)) {
        tell_extra();
        gdx_fence_note(block, block->address, GDX_BLOCK_FREED);
        return CUDA_SUCCESS;
    }
    CUresult status = free_waiting_for(block, queue);
    gdx_cu_fencing_ended(began);
    return status;
}

/* A block that could not be freed is the program's again, as it would be with the driver's own. */
static CUresult or_keep(struct gdx_block *block, CUresult status)
{
    if (status != CUDA_SUCCESS)
        gdx_block_add(&gdx_cu_fences, block);
    return status;
}

/* ---- in front of the driver ---- */

static CUresult unfenced(const char *why, CUresult status, const CUdeviceptr *result, size_t bytes)
{
    if (status == CUDA_SUCCESS)
        gdx_fence_note_missing(*result, bytes, why);
    return status;
}

/* Memory that rests or is spare is the program's when it needs it: true: an allocation that failed may succeed now. */
static bool makes_room(CUresult status)
{
    CUcontext context = NULL;
    if (status != CUDA_ERROR_OUT_OF_MEMORY || atomic_load(&gdx_cu_captures) > 0
        || gdx_cu_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return false;
    bool any = end_resting(context);
    return gdx_cu_spares_release() || any;
}

/* The driver's own allocation, where there is no fence; `call` is written down twice so that it can be made again. */
#define UNFENCED(why, call, result, bytes)                          \
    do {                                                            \
        CUresult status_ = call;                                    \
        if (makes_room(status_))                                    \
            status_ = call;                                         \
        return unfenced(why, status_, result, bytes);               \
    } while (0)

static CUresult fenced_cuMemAlloc_v2(CUdeviceptr *result, size_t bytes)
{
    const char *why = allocate(result, bytes, current_device(), 0, NULL);
    if (why)
        UNFENCED(why, gdx_cu_driver.cuMemAlloc_v2(result, bytes), result, bytes);
    return CUDA_SUCCESS;
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
    const char *why = atomic_load(&gdx_cu_captures) > 0 ? captured : refused;
    size_t row = pitch && height && why != captured ? pitch_of(width, element) : 0, bytes = 0;
    if (row && !__builtin_mul_overflow(row, height, &bytes))
        why = allocate(result, bytes, current_device(), 0, NULL);
    if (why)
        UNFENCED(why, gdx_cu_driver.cuMemAllocPitch_v2(result, pitch, width, height, element), result, bytes);
    *pitch = row;
    return CUDA_SUCCESS;
}

static const char *allocate_ordered(CUdeviceptr *result, size_t bytes, CUdevice device, CUstream queue, bool own_thread)
{
    if (atomic_load(&gdx_cu_captures) > 0)
        return captured;
    if (device < 0 || !is_here(queue))
        return unknown_pool;
    const struct about *known = about(device);
    if (!known)
        return ordered_red;
    if (!known->pools)
        return unsupported;
    uint64_t began = gdx_cu_fencing_begins();
    const char *why = allocate(result, bytes, device, GDX_BLOCK_ORDERED, (CUstream)(uintptr_t)gdx_cu_queue(queue, own_thread));
    gdx_cu_fencing_ended(began);
    return why;
}

#define ALLOC_ASYNC(name, own_thread)                                                                                   \
    static CUresult fenced_##name(CUdeviceptr *result, size_t bytes, CUstream queue)                                    \
    {                                                                                                                   \
        const char *why = allocate_ordered(result, bytes, current_device(), queue, own_thread);                         \
        if (why)                                                                                                        \
            UNFENCED(why, gdx_cu_driver.name(result, bytes, queue), result, bytes);                                     \
        return CUDA_SUCCESS;                                                                                            \
    }
ALLOC_ASYNC(cuMemAllocAsync, false)
ALLOC_ASYNC(cuMemAllocAsync_ptsz, true)

#define ALLOC_FROM_POOL(name, own_thread)                                                                               \
    static CUresult fenced_##name(CUdeviceptr *result, size_t bytes, CUmemoryPool pool, CUstream queue)                 \
    {                                                                                                                   \
        const char *why = allocate_ordered(result, bytes, gdx_cu_pool_device(pool), queue, own_thread);                 \
        if (why)                                                                                                        \
            UNFENCED(why, gdx_cu_driver.name(result, bytes, pool, queue), result, bytes);                               \
        return CUDA_SUCCESS;                                                                                            \
    }
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync, false)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, true)

static CUresult fenced_cuMemAllocManaged(CUdeviceptr *result, size_t bytes, unsigned int flags)
{
    return unfenced(managed, gdx_cu_driver.cuMemAllocManaged(result, bytes, flags), result, bytes);
}

static CUresult fenced_cuMemFree_v2(CUdeviceptr address)
{
    struct gdx_block block;
    enum gdx_taken taken = address ? gdx_block_take(&gdx_cu_fences, address, 0, &block) : GDX_NOT_THERE;
    if (taken == GDX_NOT_THERE)
        return gdx_cu_driver.cuMemFree_v2(address);
    if (taken == GDX_LEFT_DEAD)
        return CUDA_SUCCESS;
    if (atomic_load(&gdx_cu_captures) > 0)
        return unmake_later(&block);  /* a wait would spoil the capture */
    return or_keep(&block, free_waiting(&block));
}

/* A free that fits the memory's making goes elsewhere; should the driver take another, the red zone is gone with it. */
static CUresult freed_otherwise(CUdeviceptr address, CUresult status)
{
    struct gdx_block block;
    if (status == CUDA_SUCCESS && address && gdx_block_take(&gdx_cu_fences, address, GDX_BLOCK_RED, &block) == GDX_TAKEN)
        gdx_fence_note(&block, address, GDX_BLOCK_GIVEN_BACK);
    return status;
}

static CUresult free_async(CUdeviceptr address, CUstream queue, bool own_thread, CUresult (*real)(CUdeviceptr, CUstream))
{
    struct gdx_block block;
    bool capturing = atomic_load(&gdx_cu_captures) > 0;
    bool ours = address && !(capturing && gdx_cu_is_captured(queue, own_thread));
    enum gdx_taken taken = ours ? gdx_block_take(&gdx_cu_fences, address, GDX_BLOCK_ORDERED, &block) : GDX_NOT_THERE;
    if (taken == GDX_NOT_THERE)
        return freed_otherwise(address, real(address, queue));
    if (taken == GDX_LEFT_DEAD)
        return CUDA_SUCCESS;
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

static CUresult fenced_cuStreamDestroy_v2(CUstream queue)
{
    CUcontext context = NULL;
    if (GDX_CU_WORD(queue) > CU_STREAM_PER_THREAD && gdx_cu_resting() && gdx_cu_driver.cuStreamGetCtx
        && gdx_cu_driver.cuStreamGetCtx(queue, &context) == CUDA_SUCCESS)
        gdx_cu_rest_stream_ends(context, queue);
    return gdx_cu_driver.cuStreamDestroy_v2(queue);
}

/* ---- the table ---- */

#define STAND_IN(name) { GDX_CU_##name, (void *)fenced_##name }
static const struct gdx_cu_stand_in own[] = {
    STAND_IN(cuMemAlloc_v2), STAND_IN(cuMemAllocPitch_v2), STAND_IN(cuMemFree_v2), STAND_IN(cuMemAllocAsync),
    STAND_IN(cuMemAllocAsync_ptsz), STAND_IN(cuMemAllocFromPoolAsync), STAND_IN(cuMemAllocFromPoolAsync_ptsz),
    STAND_IN(cuMemFreeAsync), STAND_IN(cuMemFreeAsync_ptsz), STAND_IN(cuMemAllocManaged), STAND_IN(cuStreamDestroy_v2), { -1, NULL },
};

static bool can_look(void *const *functions)
{
    static const int needed[] = {
        GDX_CU_cuMemAlloc_v2, GDX_CU_cuMemFree_v2, GDX_CU_cuCtxGetCurrent, GDX_CU_cuCtxGetDevice, GDX_CU_cuCtxPushCurrent_v2,
        GDX_CU_cuCtxPopCurrent_v2, GDX_CU_cuCtxSynchronize, GDX_CU_cuDeviceGetAttribute, GDX_CU_cuDeviceTotalMem_v2,
        GDX_CU_cuStreamCreate, GDX_CU_cuStreamDestroy_v2, GDX_CU_cuStreamQuery, GDX_CU_cuStreamSynchronize,
        GDX_CU_cuMemcpyHtoDAsync_v2, GDX_CU_cuMemcpyDtoHAsync_v2,
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!functions[needed[i]])
            return false;
    return true;
}

void gdx_cu_put(void **functions, const struct gdx_cu_stand_in *list)
{
    for (; list->number >= 0; list++)
        if (functions[list->number])
            functions[list->number] = list->function;
}

void gdx_cu_fence_table(void **functions)
{
    if (!gdx_fence_edge() || !can_look(functions))
        return;
    gdx_cu_put(functions, own);
    gdx_cu_put(functions, gdx_cu_around);
    gdx_cu_put(functions, gdx_cu_looking);
}

void gdx_cu_fence_forget(void)
{
    for (int i = 0; i < DEVICES; i++)
        atomic_store(&devices[i].known, 0);
    gdx_cu_canary_forget(NULL);
    gdx_cu_around_forget();
    gdx_cu_spares_forget();
    gdx_cu_rest_forget();
    gdx_blocks_forget(&gdx_cu_fences);
}
