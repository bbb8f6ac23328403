/* See offsets.h. */
#define _GNU_SOURCE
#include "opencl/offsets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

_Atomic int gdx_cl_offsets_setting GDX_HOT_DATA;
static struct { char side; size_t offset, size, factor; } wish;

static bool on(void)
{
    int known = atomic_load(&gdx_cl_offsets_setting);
    if (!known) {  /* two threads may both read it, and come to the same */
        const char *text = getenv("GPUDX_SCALE_OFFSET");
        int parts = text ? sscanf(text, "%c:%zu:%zu:%zu", &wish.side, &wish.offset, &wish.size, &wish.factor) : 0;
        known = parts == 4 ? 2 : 1;
        atomic_store(&gdx_cl_offsets_setting, known);
    }
    return known == 2;
}

size_t gdx_cl_scaled_offset(char side, size_t offset, size_t size)
{
    int saved = errno;
    size_t scaled;
    bool mine = on() && side == wish.side && (offset == wish.offset || !wish.offset) && size == wish.size;
    errno = saved;
    return mine && !__builtin_mul_overflow(offset, wish.factor, &scaled) ? scaled : offset;
}
