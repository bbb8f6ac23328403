/* Virtual memory. It belongs to no context, so a device fault does not show here. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fake.h"

enum { GRANULE = 2 << 20, RESERVED = 1 << 15, MEMORY = 1 << 30 };
struct physical { size_t size; int references; };
static struct reserved ranges[RESERVED];
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t memory_in_use;

#define PLAN(name)                                             \
    do {                                                       \
        put_into(#name, NULL);                                 \
        NEED(started, CUDA_ERROR_NOT_INITIALIZED);             \
        NEED(!due(&refuse_plan, #name), refuse_plan.code);     \
    } while (0)
static struct reserved *range_at(const char *at)
{
    for (int i = 0; i < RESERVED; i++)
        if (ranges[i].at && at >= ranges[i].at && at < ranges[i].at + ranges[i].size)
            return &ranges[i];
    return NULL;
}

struct reserved *range_of(CUdeviceptr address)
{
    pthread_mutex_lock(&ranges_lock);
    struct reserved *found = range_at((const char *)(uintptr_t)address);
    pthread_mutex_unlock(&ranges_lock);
    return found;
}

API CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                           CUmemAllocationGranularity_flags option)
{
    PLAN(cuMemGetAllocationGranularity);
    (void)option;
    NEED(properties->type == 1 && properties->location.type == 1, CUDA_ERROR_INVALID_VALUE);
    *granularity = GRANULE;
    return CUDA_SUCCESS;
}

API CUresult cuMemAddressReserve(CUdeviceptr *result, size_t size, size_t alignment, CUdeviceptr wanted,
                                 unsigned long long flags)
{
    PLAN(cuMemAddressReserve);
    NEED(size && size % GRANULE == 0 && !alignment && wanted % GRANULE == 0 && !flags, CUDA_ERROR_INVALID_VALUE);
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *at = mmap((void *)(uintptr_t)wanted, size + GRANULE, PROT_NONE, how | (wanted ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    at = at == MAP_FAILED ? mmap(NULL, size + GRANULE, PROT_NONE, how, -1, 0) : at;  /* a wish, as the driver has it */
    NEED(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    char *even = (char *)(((uintptr_t)at + GRANULE - 1) / GRANULE * GRANULE);
    if (even > at)
        munmap(at, (size_t)(even - at));
    munmap(even + size, GRANULE - (size_t)(even - at));
    pthread_mutex_lock(&ranges_lock);
    int i = 0;
    while (i < RESERVED && ranges[i].at)
        i++;
    if (i < RESERVED)
        ranges[i] = (struct reserved){ even, size, 0, 0, NULL };
    pthread_mutex_unlock(&ranges_lock);
    *result = (CUdeviceptr)(uintptr_t)even;
    return i < RESERVED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    PLAN(cuMemAddressFree);
    struct reserved *range = range_of(address);
    NEED(range && (uintptr_t)range->at == address && range->size == size && !range->physical, CUDA_ERROR_INVALID_VALUE);
    munmap(range->at, size);
    range->at = NULL;
    return CUDA_SUCCESS;
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *result, size_t size, const CUmemAllocationProp *properties,
                         unsigned long long flags)
{
    PLAN(cuMemCreate);
    (void)flags;
    NEED(size && size % GRANULE == 0 && properties->type == 1, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&ranges_lock);
    bool room = memory_in_use + size <= MEMORY;
    memory_in_use += room ? size : 0;
    pthread_mutex_unlock(&ranges_lock);
    NEED(room, CUDA_ERROR_OUT_OF_MEMORY);
    struct physical *made = calloc(1, sizeof *made);
    *made = (struct physical){ size, 1 };
    *result = (CUmemGenericAllocationHandle)(uintptr_t)made;
    return CUDA_SUCCESS;
}

static void drop(struct physical *physical)
{
    pthread_mutex_lock(&ranges_lock);
    bool last = --physical->references == 0;
    memory_in_use -= last ? physical->size : 0;
    pthread_mutex_unlock(&ranges_lock);
    if (last)
        free(physical);
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    PLAN(cuMemRelease);
    drop((struct physical *)(uintptr_t)handle);
    return CUDA_SUCCESS;
}

API CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    PLAN(cuMemMap);
    (void)flags;
    struct reserved *range = range_of(address);
    struct physical *physical = (struct physical *)(uintptr_t)handle;
    NEED(range && !range->physical && !offset && physical->size == size, CUDA_ERROR_INVALID_VALUE);
    size_t at = (size_t)(address - (uintptr_t)range->at);
    NEED(at + size <= range->size, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&ranges_lock);
    physical->references++;
    range->mapped_at = at;
    range->mapped = size;
    range->physical = physical;
    pthread_mutex_unlock(&ranges_lock);
    return CUDA_SUCCESS;
}

API CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
{
    PLAN(cuMemSetAccess);
    struct reserved *range = range_of(address);
    NEED(range && range->physical && count && access->flags == 3, CUDA_ERROR_INVALID_VALUE);
    NEED(!mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE), CUDA_ERROR_OPERATING_SYSTEM);
    return CUDA_SUCCESS;
}

API CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    PLAN(cuMemUnmap);
    struct reserved *range = range_of(address);
    NEED(range && range->physical && range->mapped == size, CUDA_ERROR_INVALID_VALUE);
    void *at = (void *)(uintptr_t)address;
    madvise(at, size, MADV_DONTNEED);
    mprotect(at, size, PROT_NONE);
    struct physical *physical = range->physical;
    pthread_mutex_lock(&ranges_lock);
    range->physical = NULL;
    pthread_mutex_unlock(&ranges_lock);
    drop(physical);
    return CUDA_SUCCESS;
}
