/* Where a call was made from. The host stack is taken of calls that fail; of launches, copies, fills and allocations: the first ones of each
 * thread, and then one now and then; of arguments, releases and events: the first calls of each kind. Under `gpudx run --stacks` all launches,
 * copies, fills and allocations have theirs, with the Python frames above. A stack is a note of its own that says which record it
 * belongs to. */
#pragma once

#include "core/recorder.h"

enum gdx_stacks { GDX_STACKS_FIRST, GDX_STACKS_ALL, GDX_STACKS_FAILURES };
extern enum gdx_stacks gdx_stacks;  /* asked once, when we are loaded */

void gdx_want_stacks(void);        /* reads GPUDX_STACKS: "1" all, "0" only calls that fail */
void gdx_first_stacks(struct gdx_lane *lane);  /* of a thread that begins */
void gdx_prepare_stacks(void);     /* once per trace: may load a library and look up symbols, so not with a lock held */
void gdx_take_stack(struct gdx_open *of);  /* of a committed record; errno is kept */
void gdx_stack_in_turn(struct gdx_open *of);
void gdx_stack_of_kind(struct gdx_open *of);

/* After the commit and before the driver is called: it may never come back. */
static inline void gdx_stack_of_work(struct gdx_open *open)
{
    if (GDX_UNLIKELY(open->slot->begin >= open->lane->next_stack))
        gdx_stack_in_turn(open);
}

/* Of what is called too often for every one, and of releases, which come from destructors, where Python is not asked anything. */
static inline void gdx_first_stack(struct gdx_open *open)
{
    if (GDX_LIKELY(gdx_stacks != GDX_STACKS_FAILURES))
        gdx_stack_of_kind(open);
}
