/* Where a call was made from: the host stack of calls that fail and, under `gpudx run --stacks`, of every launch,
 * copy, fill and allocation, with the Python frames above it. A stack is a note of its own that says which record it belongs to. */
#pragma once

#include "core/recorder.h"

extern bool gdx_stacks_on;         /* are these to have their stacks? Asked once, when we are loaded */

void gdx_want_stacks(void);        /* reads GPUDX_STACKS */
void gdx_prepare_stacks(void);     /* once per trace: may load a library and look up symbols, so not with a lock held */
void gdx_take_stack(struct gdx_open *of);  /* of a committed record; errno is kept */

/* After the commit and before the driver is called: it may never come back. */
static inline void gdx_stack_of_work(struct gdx_open *open)
{
    if (GDX_UNLIKELY(gdx_stacks_on))
        gdx_take_stack(open);
}
