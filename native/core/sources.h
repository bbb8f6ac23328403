/* Host memory that copies may still read: is it the same when the program next waits?
 *
 * A few bytes of it are kept when a copy is asked for that returns early, and compared before the program waits for anything, or
 * copies from the same address again. Nothing may change there in between, whenever the copy really runs: a difference is recorded
 * (note_source_changed). What changes and is not among the bytes kept is not seen. No locks: what is busy is left out.
 *
 * The data of host functions is looked at in the same way. There the function itself may have made the difference.
 *
 * Looking has a budget: some milliseconds, and a fortieth of the time since the first copy. A program that makes so many copies that
 * this is used up has some of them watched, not all. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

extern _Atomic int gdx_sources_open;  /* copies that are watched */
void gdx_source_given(const void *address, size_t size);  /* right after the driver took the copy */
void gdx_sources_compare(void);
void gdx_sources_renew(void);  /* what was changed until now is no fault: the copies were waiting for the program itself */

static inline void gdx_sources_look(void)
{
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_sources_open, memory_order_relaxed)))
        gdx_sources_compare();
}
