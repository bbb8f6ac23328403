/* Memory between fences: made with the runtime's virtual memory management (HIP documentation, "Virtual memory management"),
 * one mapping each, in the middle of a reservation that is one granule longer at both ends. An access outside of it, or after
 * its free, is a fault of the device.
 *
 * Only with HIP 6 and newer, and where the device says that it can: before, hip_runtime_api.h had another layout for what
 * describes memory, and the calls were experiments. The handle of the memory is kept until it is unmapped: not every runtime
 * keeps the memory of a handle that is let go while it is mapped. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "hip/red.h"

/* HIP promises no alignment in words; programs that were CUDA's rely on what that promises (native/cuda/fence.c). */
enum { PROMISED_ALIGN = 256, LEAST_ALIGN = 16 };

/* hip_runtime_api.h of HIP 6: hipMemAllocationProp, hipMemAccessDesc and their numbers. */
enum { FIRST_VERSION = 60000000, PINNED = 1, DEVICE = 1, READ_AND_WRITE = 3, MINIMUM = 0,
       MAPPINGS_SUPPORTED = 89 /* hipDeviceAttributeVirtualMemoryManagementSupported */ };
struct properties { int type, handle_types, location_type, location; void *windows; uint32_t flags; };
struct access { int location_type, location, flags; };
_Static_assert(sizeof(struct properties) == sizeof(hipMemAllocationProp), "hipMemAllocationProp");
_Static_assert(sizeof(struct access) == sizeof(hipMemAccessDesc), "hipMemAccessDesc");

static const char no_memory[] = "not enough device memory", no_addresses[] = "no addresses",
    refused[] = "the runtime refused a part of the fence";

static struct { _Atomic uint64_t granule, memory; _Atomic int known; } devices[GDX_HIP_DEVICES];

static struct properties properties_of(int device)
{
    return (struct properties){ .type = PINNED, .location_type = DEVICE, .location = device };
}

/* ---- which devices ---- */

static bool has_mappings(void)
{
    int version = 0;
    return gdx_hip_driver.hipMemAddressReserve && gdx_hip_driver.hipMemAddressFree && gdx_hip_driver.hipMemCreate
        && gdx_hip_driver.hipMemRelease && gdx_hip_driver.hipMemMap && gdx_hip_driver.hipMemUnmap
        && gdx_hip_driver.hipMemSetAccess && gdx_hip_driver.hipMemGetAllocationGranularity
        && gdx_hip_driver.hipRuntimeGetVersion && gdx_hip_driver.hipDeviceGetAttribute && gdx_hip_driver.hipDeviceTotalMem
        && gdx_hip_driver.hipRuntimeGetVersion(&version) == hipSuccess && version >= FIRST_VERSION;
}

/* Asked right before a call of the program, since a question can fail (hooks.h). */
static void ask(int device)
{
    struct properties properties = properties_of(device);
    size_t granule = 0, memory = 0;
    int able = 0;
    if (has_mappings() && gdx_hip_driver.hipDeviceGetAttribute(&able, MAPPINGS_SUPPORTED, device) == hipSuccess && able
        && gdx_hip_driver.hipMemGetAllocationGranularity(&granule, (void *)&properties, MINIMUM) == hipSuccess
        && gdx_hip_driver.hipDeviceTotalMem(&memory, device) == hipSuccess) {
        atomic_store(&devices[device].memory, memory);
        atomic_store(&devices[device].granule, granule);
    }
    atomic_store(&devices[device].known, 1);
}

bool gdx_hip_maps(int device)
{
    if (device < 0 || device >= GDX_HIP_DEVICES || gdx_fence_edge() == GDX_EDGE_RED)
        return false;
    if (!atomic_load(&devices[device].known))
        ask(device);
    return atomic_load(&devices[device].granule) != 0;
}

void gdx_hip_map_forget(void)
{
    for (int i = 0; i < GDX_HIP_DEVICES; i++) {
        atomic_store(&devices[i].known, 0);
        atomic_store(&devices[i].granule, 0);
    }
}

/* ---- steps ---- */

static void *address_of(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

void gdx_hip_give_back(struct gdx_range range)
{
    gdx_hip_driver.hipMemAddressFree(address_of(range.address), range.bytes);
}

bool gdx_hip_grant(const struct gdx_block *block, uint64_t others)
{
    for (int i = 0; i < GDX_HIP_DEVICES; i++) {
        struct access access = { DEVICE, i, READ_AND_WRITE };
        if ((i == block->device || others >> i & 1)
            && gdx_hip_driver.hipMemSetAccess(address_of(block->mapping), block->mapped, (void *)&access, 1) != hipSuccess)
            return false;
    }
    return true;
}

static bool put_memory(struct gdx_block *block)
{
    struct properties properties = properties_of(block->device);
    hipMemGenericAllocationHandle_t memory = NULL;
    if (gdx_hip_driver.hipMemCreate(&memory, block->mapped, (void *)&properties, 0) != hipSuccess)
        return false;
    block->memory = GDX_HIP_WORD(memory);
    if (gdx_hip_driver.hipMemMap(address_of(block->mapping), block->mapped, 0, memory, 0) == hipSuccess)
        return true;
    gdx_hip_driver.hipMemRelease(memory);
    return false;
}

static hipError_t take_memory(const struct gdx_block *block)
{
    hipError_t status = gdx_hip_driver.hipMemUnmap(address_of(block->mapping), block->mapped);
    return status == hipSuccess ? gdx_hip_driver.hipMemRelease(address_of(block->memory)) : status;
}

/* ---- making and unmaking ---- */

/* A fill that has not ended may still write there: then the mapping stays, and no more are made on this device. */
static const char *finish(struct gdx_block *block)
{
    if (gdx_hip_grant(block, gdx_hip_peers(block->device))) {
        if (!gdx_hip_zone_fill(block))
            return refused;
        if (gdx_block_add(&gdx_hip_fences, block))
            return NULL;
    }
    take_memory(block);
    gdx_hip_give_back(gdx_fence_range(block));
    return refused;
}

static const char *make(struct gdx_block *block)
{
    void *range = NULL;
    if (gdx_hip_driver.hipMemAddressReserve(&range, gdx_fence_range(block).bytes, 0, NULL, 0) != hipSuccess || !range)
        return no_addresses;
    gdx_fence_move(block, GDX_HIP_WORD(range));
    if (put_memory(block))
        return finish(block);
    gdx_hip_give_back(gdx_fence_range(block));
    return no_memory;
}

const char *gdx_hip_map(void **result, size_t bytes, int device)
{
    struct gdx_block block = { .device = device, .owner = gdx_hip_owner(device) };
    uint64_t granule = atomic_load(&devices[device].granule);
    if (!gdx_fence_place(&block, bytes, gdx_fence_align(PROMISED_ALIGN, LEAST_ALIGN), granule, granule))
        return refused;
    if (!gdx_slack_take(&gdx_hip_fences, &block, atomic_load(&devices[device].memory)))
        return no_memory;
    const char *why = make(&block);
    if (why) {
        gdx_slack_return(&gdx_hip_fences, &block);
        return why;
    }
    *result = address_of(block.address);
    gdx_fence_note(&block, block.address, GDX_BLOCK_MADE);
    return NULL;
}

hipError_t gdx_hip_unmap(const struct gdx_block *block)
{
    hipError_t status = take_memory(block);
    if (status != hipSuccess)
        return status;
    gdx_slack_return(&gdx_hip_fences, block);
    gdx_fence_note(block, block->address, GDX_BLOCK_FREED);
    gdx_quarantine(&gdx_hip_fences, gdx_fence_range(block));
    return hipSuccess;
}
