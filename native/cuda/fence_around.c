/* What a program can see of its memory besides using it stays as it was: how large an allocation is, which devices reach
 * it, that it ends with its context. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>

enum { DEVICES = 64, POOLS = 64 };

/* ---- address ranges ---- */

static CUresult fenced_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct gdx_block block;
    if (!gdx_block_holding(&gdx_cu_fences, address, &block))
        return gdx_cu_driver.cuMemGetAddressRange_v2(base, size, address);
    if (base)
        *base = block.address;
    if (size)
        *size = block.bytes;
    return CUDA_SUCCESS;
}

/* The driver has answered for the mapping; mapped memory also belongs to no context. */
static void correct(void *value, CUpointer_attribute attribute, const struct gdx_block *block)
{
    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(CUdeviceptr *)value = block->address;
    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        *(size_t *)value = block->bytes;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
        *(CUcontext *)value = (CUcontext)(uintptr_t)block->owner;
}

static bool is_ours(CUpointer_attribute attribute)
{
    return attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE
        || attribute == CU_POINTER_ATTRIBUTE_CONTEXT;
}

static CUresult fenced_cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct gdx_block block;
    if (!value || !is_ours(attribute) || !gdx_block_holding(&gdx_cu_fences, address, &block))
        return gdx_cu_driver.cuPointerGetAttribute(value, attribute, address);
    correct(value, attribute, &block);
    return CUDA_SUCCESS;
}

static CUresult fenced_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                              CUdeviceptr address)
{
    struct gdx_block block;
    CUresult status = gdx_cu_driver.cuPointerGetAttributes(count, attributes, values, address);
    if (status == CUDA_SUCCESS && gdx_block_holding(&gdx_cu_fences, address, &block))
        for (unsigned int i = 0; i < count; i++)
            correct(values[i], attributes[i], &block);
    return status;
}

/* Mapped memory cannot be given to another process in this way (CUDA driver API reference, cuIpcGetMemHandle: memory of
 * cuMemAlloc only). The driver says no, the program sees that, and the report says why. */
static CUresult fenced_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    struct gdx_block block;
    CUresult status = gdx_cu_driver.cuIpcGetMemHandle(handle, address);
    if (status != CUDA_SUCCESS && gdx_block_holding(&gdx_cu_fences, address, &block))
        gdx_fence_count(&gdx_cu_fences, GDX_COUNT_SHARED);
    return status;
}

/* ---- other devices ---- */

/* For each device, a bit for each other one that may access its memory; and the same for memory of pools. Permission that
 * is taken back later stays: that can hide a fault, but makes none. */
static _Atomic uint64_t peers[DEVICES], pool_peers;

uint64_t gdx_cu_peers(CUdevice device, bool ordered)
{
    return atomic_load(&peers[device]) | (ordered ? atomic_load(&pool_peers) : 0);
}

/* Permission also covers what is already there (CUDA driver API reference, cuCtxEnablePeerAccess). */
static void grant_all(CUdevice owner, uint16_t flags)
{
    struct gdx_block block;
    for (uint32_t i = gdx_blocks(&gdx_cu_fences); i-- > 0;)
        if (gdx_block_number(&gdx_cu_fences, i, &block) && (owner < 0 || block.device == owner) && (block.flags & flags) == flags)
            gdx_cu_grant(&block, gdx_cu_peers(block.device, block.flags & GDX_BLOCK_ORDERED));
}

static int device_of(CUcontext context)
{
    CUdevice device = -1;
    struct gdx_cu_visit visit = gdx_cu_visit(context);
    if (visit.status == CUDA_SUCCESS)
        gdx_cu_driver.cuCtxGetDevice(&device);
    gdx_cu_leave(visit);
    return device;
}

static CUresult fenced_cuCtxEnablePeerAccess(CUcontext context, unsigned int flags)
{
    CUdevice own = -1;
    CUresult status = gdx_cu_driver.cuCtxEnablePeerAccess(context, flags);
    if (status != CUDA_SUCCESS || gdx_cu_driver.cuCtxGetDevice(&own) != CUDA_SUCCESS)
        return status;
    int owner = device_of(context);
    if (owner >= 0 && owner < DEVICES && own >= 0 && own < DEVICES) {
        atomic_fetch_or(&peers[owner], 1ull << own);
        grant_all(owner, 0);
    }
    return status;
}

static CUresult fenced_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    uint64_t others = 0;
    CUresult status = gdx_cu_driver.cuMemPoolSetAccess(pool, access, count);
    for (size_t i = 0; status == CUDA_SUCCESS && i < count; i++) {
        CUmemLocation where = access[i].location;
        if (where.type == CU_MEM_LOCATION_TYPE_DEVICE && where.id >= 0 && where.id < DEVICES && access[i].flags)
            others |= 1ull << where.id;
    }
    if (others) {
        atomic_fetch_or(&pool_peers, others);
        grant_all(-1, GDX_BLOCK_ORDERED);
    }
    return status;
}

/* ---- pools ---- */

/* Pools that the program made, with their device: from 1, so that 0 is a free place. */
static struct { _Atomic uintptr_t pool; _Atomic int device; } pools[POOLS];

static void know_pool(CUmemoryPool pool, int device)
{
    for (int i = 0; i < POOLS; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&pools[i].pool, &none, (uintptr_t)pool)) {
            atomic_store(&pools[i].device, device + 1);
            return;
        }
    }
}

/* Blocks of a pool that can be given to other processes stay the driver's, and so do those of pools in host memory. */
static CUresult fenced_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    CUresult status = gdx_cu_driver.cuMemPoolCreate(pool, properties);
    if (status == CUDA_SUCCESS && !properties->handle_types && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        know_pool(*pool, properties->location.id);
    return status;
}

static CUresult fenced_cuMemPoolDestroy(CUmemoryPool pool)
{
    for (int i = 0; i < POOLS; i++)
        if (pool && atomic_load(&pools[i].pool) == (uintptr_t)pool) {
            atomic_store(&pools[i].device, 0);
            atomic_store(&pools[i].pool, 0);
        }
    return gdx_cu_driver.cuMemPoolDestroy(pool);
}

int gdx_cu_pool_device(CUmemoryPool pool)
{
    CUmemoryPool usual = NULL;
    CUdevice device = -1;
    for (int i = 0; i < POOLS; i++)
        if (pool && atomic_load(&pools[i].pool) == (uintptr_t)pool)
            return atomic_load(&pools[i].device) - 1;
    if (gdx_cu_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS && gdx_cu_driver.cuDeviceGetDefaultMemPool
        && gdx_cu_driver.cuDeviceGetDefaultMemPool(&usual, device) == CUDA_SUCCESS && usual == pool)
        return device;
    return -1;
}

/* ---- the end of a context is the end of its memory ---- */

static _Atomic uintptr_t primary[DEVICES];

static CUresult fenced_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult status = gdx_cu_driver.cuDevicePrimaryCtxRetain(context, device);
    if (status == CUDA_SUCCESS && device >= 0 && device < DEVICES)
        atomic_store(&primary[device], (uintptr_t)*context);
    return status;
}

static void primary_gone(CUresult status, CUdevice device)
{
    if (status == CUDA_SUCCESS && device >= 0 && device < DEVICES && atomic_load(&primary[device]))
        gdx_cu_end_blocks((CUcontext)atomic_load(&primary[device]));
}

/* Only the last release ends it. */
static CUresult released(CUresult status, CUdevice device)
{
    unsigned int flags;
    int active = 1;
    if (gdx_cu_driver.cuDevicePrimaryCtxGetState
        && gdx_cu_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && !active)
        primary_gone(status, device);
    return status;
}

static CUresult was_reset(CUresult status, CUdevice device)
{
    primary_gone(status, device);
    return status;
}

static CUresult destroyed(CUresult status, CUcontext context)
{
    if (status == CUDA_SUCCESS && context)
        gdx_cu_end_blocks(context);
    return status;
}

#define ENDING(name, type, then)                            \
    static CUresult fenced_##name(type which)               \
    {                                                       \
        return then(gdx_cu_driver.name(which), which);      \
    }
ENDING(cuDevicePrimaryCtxRelease, CUdevice, released)
ENDING(cuDevicePrimaryCtxRelease_v2, CUdevice, released)
ENDING(cuDevicePrimaryCtxReset, CUdevice, was_reset)
ENDING(cuDevicePrimaryCtxReset_v2, CUdevice, was_reset)
ENDING(cuCtxDestroy, CUcontext, destroyed)
ENDING(cuCtxDestroy_v2, CUcontext, destroyed)

void gdx_cu_around_forget(void)
{
    for (int i = 0; i < DEVICES; i++) {
        atomic_store(&peers[i], 0);
        atomic_store(&primary[i], 0);
    }
    for (int i = 0; i < POOLS; i++)
        atomic_store(&pools[i].pool, 0);
    atomic_store(&pool_peers, 0);
}

#define STAND_IN(name) { GDX_CU_##name, (void *)fenced_##name }
const struct gdx_cu_stand_in gdx_cu_around[] = {
    STAND_IN(cuMemGetAddressRange_v2), STAND_IN(cuPointerGetAttribute), STAND_IN(cuPointerGetAttributes),
    STAND_IN(cuIpcGetMemHandle), STAND_IN(cuCtxEnablePeerAccess), STAND_IN(cuMemPoolSetAccess),
    STAND_IN(cuMemPoolCreate), STAND_IN(cuMemPoolDestroy), STAND_IN(cuDevicePrimaryCtxRetain),
    STAND_IN(cuDevicePrimaryCtxRelease), STAND_IN(cuDevicePrimaryCtxRelease_v2), STAND_IN(cuDevicePrimaryCtxReset),
    STAND_IN(cuDevicePrimaryCtxReset_v2), STAND_IN(cuCtxDestroy), STAND_IN(cuCtxDestroy_v2), { -1, NULL },
};
