/* Physical memory that freed blocks have left, kept for the next ones: to make it anew, and to have the driver clear it away, takes
 * a fifth of the time of a small allocation and its free. Only the smallest pieces, and no more than a program would miss. */
#define _GNU_SOURCE
#include "cuda/fence.h"

enum { SPARES = 64, LARGEST = 2 << 20 };

static struct { uint64_t memory, bytes; CUdevice device; } spares[SPARES];  /* with the lock held */
static uint32_t count;

uint64_t gdx_cu_spare_take(CUdevice device, uint64_t bytes)
{
    struct gdx_calm calm;
    uint64_t memory = 0;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = count; i-- && !memory;)
        if (spares[i].device == device && spares[i].bytes == bytes) {
            memory = spares[i].memory;
            spares[i] = spares[--count];
        }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return memory;
}

void gdx_cu_spare_keep(CUdevice device, uint64_t bytes, uint64_t memory)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool kept = bytes <= LARGEST && count < SPARES;
    if (kept) {
        spares[count].memory = memory;
        spares[count].bytes = bytes;
        spares[count++].device = device;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (!kept)
        gdx_cu_driver.cuMemRelease(memory);
}

bool gdx_cu_spares_release(void)
{
    struct gdx_calm calm;
    uint64_t memory = 0;
    bool any = false;
    do {
        gdx_lock(GDX_LOCK_FENCE, &calm);
        memory = count ? spares[--count].memory : 0;
        gdx_unlock(GDX_LOCK_FENCE, &calm);
        if (memory)
            any = gdx_cu_driver.cuMemRelease(memory) == CUDA_SUCCESS || any;
    } while (memory);
    return any;
}

void gdx_cu_spares_forget(void)
{
    count = 0;
}
