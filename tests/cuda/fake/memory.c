/* Allocations and copies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* What was handed out and not yet taken back. Like a real driver's, a free takes only the beginning of an allocation of
 * its own kind, and a copy only device memory where it says so; pinned host memory can be either. */
enum family { ORDINARY, DEVICE, PINNED };
struct memory { uintptr_t first; size_t size; enum family family; };
static struct memory memories[1024];
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

static struct memory *memory_at(uintptr_t address)
{
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i].family && address - memories[i].first < memories[i].size)
            return &memories[i];
    return NULL;
}

static enum family family_of(const void *address)
{
    pthread_mutex_lock(&memory_lock);
    struct memory *found = memory_at((uintptr_t)address);
    enum family family = found ? found->family : ORDINARY;
    pthread_mutex_unlock(&memory_lock);
    return range_of((CUdeviceptr)(uintptr_t)address) ? DEVICE : family;
}

static void *hand_out(size_t size, enum family family)
{
    void *made = NULL;
    pthread_mutex_lock(&memory_lock);
    for (size_t i = 0; !made && i < sizeof memories / sizeof *memories; i++)
        if (!memories[i].family) {
            made = calloc(1, size);
            if (!made)
                break;
            memories[i] = (struct memory){ (uintptr_t)made, size, family };
        }
    pthread_mutex_unlock(&memory_lock);
    return made;
}

static CUresult take_back(uintptr_t address, enum family family)
{
    if (!address)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&memory_lock);
    struct memory *found = memory_at(address);
    int good = found && found->family == family && found->first == address;
    if (good)
        found->family = ORDINARY;
    pthread_mutex_unlock(&memory_lock);
    if (good)
        free((void *)address);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    ENTER(cuMemAlloc_v2);
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    NEED(size, CUDA_ERROR_INVALID_VALUE);
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(cuMemFree_v2);
    return take_back((uintptr_t)address, DEVICE);
}

API CUresult cuMemHostAlloc(void **address, size_t size, unsigned int flags)
{
    ENTER(cuMemHostAlloc);
    (void)flags;
    *address = hand_out(size, PINNED);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFreeHost(void *address)
{
    ENTER(cuMemFreeHost);
    return take_back((uintptr_t)address, PINNED);
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
    ENTER(cuMemAllocAsync);
    (void)stream;
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    ENTER(cuMemFreeAsync);
    (void)stream;
    return take_back((uintptr_t)address, DEVICE);
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    ENTER(cuMemAllocPitch_v2);
    NEED(width && height && element, CUDA_ERROR_INVALID_VALUE);
    *pitch = (width + 511) / 512 * 512;
    *address = (CUdeviceptr)(uintptr_t)hand_out(height * *pitch, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags)
{
    ENTER(cuMemAllocManaged);
    NEED(size && flags, CUDA_ERROR_INVALID_VALUE);
    *address = (CUdeviceptr)(uintptr_t)hand_out(size, DEVICE);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The allocation or mapping that an address lies in. */
static bool bounds_of(CUdeviceptr address, CUdeviceptr *base, size_t *size)
{
    struct reserved *range = range_of(address);
    if (range) {
        *base = (CUdeviceptr)(uintptr_t)range->at + range->mapped_at;
        *size = range->mapped;
        return range->physical != NULL;
    }
    pthread_mutex_lock(&memory_lock);
    struct memory *found = memory_at((uintptr_t)address);
    *base = found ? found->first : 0;
    *size = found ? found->size : 0;
    pthread_mutex_unlock(&memory_lock);
    return found != NULL;
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    ENTER(cuMemGetAddressRange_v2);
    CUdeviceptr first;
    size_t bytes;
    NEED(bounds_of(address, &first, &bytes), CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = first;
    if (size)
        *size = bytes;
    return CUDA_SUCCESS;
}

API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    ENTER(cuIpcGetMemHandle);
    NEED(!range_of(address), CUDA_ERROR_INVALID_VALUE);
    memset(handle, 1, sizeof *handle);
    return CUDA_SUCCESS;
}

API CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    ENTER(cuMemGetInfo_v2);
    *left = *total = (size_t)1 << 30;
    return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr dst, const void *src, size_t size)
{
    void *to = (void *)(uintptr_t)dst;
    NEED(family_of(to) != ORDINARY && family_of(src) != DEVICE, CUDA_ERROR_INVALID_VALUE);
    memcpy(to, src, size);
    return CUDA_SUCCESS;
}

static CUresult to_host(void *dst, CUdeviceptr src, size_t size)
{
    const void *from = (const void *)(uintptr_t)src;
    NEED(family_of(from) != ORDINARY && family_of(dst) != DEVICE, CUDA_ERROR_INVALID_VALUE);
    memcpy(dst, from, size);
    return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
    ENTER(cuMemcpyHtoD_v2);
    return to_device(dst, src, size);
}

API CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst, const void *src, size_t size)
{
    ENTER(cuMemcpyHtoD_v2_ptds);
    return to_device(dst, src, size);
}

API CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
    ENTER(cuMemcpyDtoH_v2);
    return to_host(dst, src, size);
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    ENTER(cuMemcpyDtoD_v2);
    memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
    return CUDA_SUCCESS;
}


/* Into pageable memory it returns when it is done. */
API CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
    ENTER(cuMemcpyDtoHAsync_v2);
    if (!stands_still(stream))
        return to_host(dst, src, size);
    if (family_of(dst) == ORDINARY)
        wait_for_ever();
    return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
    ENTER(cuMemcpyHtoDAsync_v2);
    put_into("copy", stream);
    return to_device(dst, src, size);
}

static char *side(const struct gdx_cu_side2 *one)
{
    char *base = one->type == CU_MEMORYTYPE_HOST ? (char *)(uintptr_t)one->host : (char *)(uintptr_t)one->device;
    return base + one->y * one->pitch + one->x;
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *box)
{
    ENTER(cuMemcpy2D_v2);
    char *to = side(&box->dst);
    const char *from = side(&box->src);
    NEED(box->src.type != CU_MEMORYTYPE_ARRAY && box->dst.type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_INVALID_VALUE);
    NEED(box->src.pitch >= box->width + box->src.x, CUDA_ERROR_INVALID_VALUE);
    NEED(box->dst.pitch >= box->width + box->dst.x, CUDA_ERROR_INVALID_VALUE);
    for (size_t row = 0; row < box->height; row++)
        memcpy(to + row * box->dst.pitch, from + row * box->src.pitch, box->width);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
    ENTER(cuMemsetD8_v2);
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY, CUDA_ERROR_INVALID_VALUE);
    memset((void *)(uintptr_t)dst, value, count);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    ENTER(cuMemsetD8Async);
    (void)stream;
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY, CUDA_ERROR_INVALID_VALUE);
    memset((void *)(uintptr_t)dst, value, count);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    ENTER(cuMemsetD16Async);
    (void)stream;
    NEED(family_of((void *)(uintptr_t)dst) != ORDINARY && dst % 2 == 0, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        ((unsigned short *)(uintptr_t)dst)[i] = value;
    return CUDA_SUCCESS;
}

/* The context (1), the beginning (11) and the size (12) of what an address lies in; 0 for all else. */
static uint64_t attribute_of(CUpointer_attribute attribute, CUdeviceptr address)
{
    CUdeviceptr base;
    size_t size;
    if (!bounds_of(address, &base, &size))
        return 0;
    return attribute == 1 ? (uint64_t)(uintptr_t)current : attribute == 11 ? base : attribute == 12 ? size : 0;
}

API CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    ENTER(cuPointerGetAttribute);
    CUdeviceptr base;
    size_t size;
    NEED(bounds_of(address, &base, &size), CUDA_ERROR_INVALID_VALUE);
    *(uint64_t *)value = attribute_of(attribute, address);
    return CUDA_SUCCESS;
}

/* Unlike the one above, it succeeds for any address. */
API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                    CUdeviceptr address)
{
    ENTER(cuPointerGetAttributes);
    for (unsigned i = 0; i < count; i++)
        *(uint64_t *)values[i] = attribute_of(attributes[i], address);
    return CUDA_SUCCESS;
}
