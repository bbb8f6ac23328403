/* Entries of virtual memory management, as HIP 6 has them: the header of 5.2.3, which the rest is compiled against, describes
 * memory in another layout. Only with GPUDX_HIP_SIM_MAPPINGS=1; else the device says that it has no such thing. */
#include <stdlib.h>

#include "sim.h"

enum { PINNED = 1, DEVICE = 1, READ_AND_WRITE = 3 };
struct properties { int type, handle_types, location_type, location; void *windows; uint32_t flags; };
struct ihipMemGenericAllocationHandle { size_t size; int device; };

static bool is_good(const struct properties *p)
{
    return sim_mappings() && p && p->type == PINNED && !p->handle_types && p->location_type == DEVICE && p->location >= 0
        && p->location < sim_devices();
}

API hipError_t hipMemGetAllocationGranularity(size_t *granule, const hipMemAllocationProp *properties,
                                              hipMemAllocationGranularity_flags which)
{
    (void)which;
    *granule = SIM_GRANULE;
    return sim_return(is_good((const void *)properties) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipMemAddressReserve(void **result, size_t size, size_t alignment, void *wanted, unsigned long long flags)
{
    (void)alignment;
    *result = sim_mappings() && size && size % SIM_GRANULE == 0 && !flags ? sim_reserve(size, wanted) : NULL;
    return sim_return(*result ? hipSuccess : hipErrorOutOfMemory);
}

API hipError_t hipMemAddressFree(void *address, size_t size)
{
    return sim_return(address && size ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *properties,
                            unsigned long long flags)
{
    const struct properties *p = (const void *)properties;
    if (!is_good(p) || !size || size % SIM_GRANULE || flags)
        return sim_return(hipErrorInvalidValue);
    *handle = malloc(sizeof **handle);
    **handle = (struct ihipMemGenericAllocationHandle){ size, p->location };
    return sim_return(hipSuccess);
}

API hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    free(handle);
    return sim_return(handle ? hipSuccess : hipErrorInvalidValue);
}

/* clr, hip_vm.cpp: it goes through the default stream. */
API hipError_t hipMemMap(void *address, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
                         unsigned long long flags)
{
    if (!handle || offset || flags || size != handle->size)
        return sim_return(hipErrorInvalidValue);
    hipStream_t stream = sim_stream(NULL, false);
    sim_wait(stream, sim_submit(stream, NULL, NULL, 0));
    return sim_return(sim_map(address, size, handle->device) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipMemSetAccess(void *address, size_t size, const hipMemAccessDesc *access, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (access[i].location.id >= sim_devices() || (int)access[i].flags != READ_AND_WRITE
            || !sim_grant(address, size, access[i].location.id))
            return sim_return(hipErrorInvalidValue);
    return sim_return(hipSuccess);
}

API hipError_t hipMemUnmap(void *address, size_t size)
{
    return sim_return(sim_unmap(address, size) ? hipSuccess : hipErrorInvalidValue);
}
