/* A lab's experiment (GPUDX_SCALE_OFFSET=side:offset:size:factor): copies of this size at this offset of a buffer are made at a multiple of
 * it; an offset of 0 stands for any. A failure that goes shows that the program gives the offset in elements where bytes are wanted. `side`: 'b' of reads and writes
 * of a buffer, 's' and 'd' of copies between two. The record keeps what the program asked for. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "core/recorder.h"

extern _Atomic int gdx_cl_offsets_setting;  /* 0: not read yet, 1: off, 2: on */
size_t gdx_cl_scaled_offset(char side, size_t offset, size_t size);

static inline size_t gdx_cl_scaled(char side, size_t offset, size_t size)
{
    if (GDX_LIKELY(atomic_load_explicit(&gdx_cl_offsets_setting, memory_order_relaxed) == 1))
        return offset;
    return gdx_cl_scaled_offset(side, offset, size);
}
