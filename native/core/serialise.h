/* Waits of our own at launches (GPUDX_SERIALISE):
 *
 *     1               after each launch (gpudx run --serialise)
 *     after:WHICH     only after these launches, before:WHICH only before them. WHICH is the name of a kernel, with * and ?, or the
 *                     number of a launch in the process, counted from 1 in the order in which they come
 *
 * Off, it is one load and one branch. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "core/recorder.h"

enum gdx_waits { GDX_WAITS_UNKNOWN, GDX_WAITS_NONE, GDX_WAITS_ALL, GDX_WAITS_AFTER, GDX_WAITS_BEFORE };

extern _Atomic int gdx_waits_setting;
int gdx_read_waits(void);

/* Asked once, so a program that changes its environment later does not change our mind. */
static inline bool gdx_serialised(void)
{
    int known = atomic_load_explicit(&gdx_waits_setting, memory_order_relaxed);
    return (GDX_UNLIKELY(!known) ? gdx_read_waits() : known) != GDX_WAITS_NONE;
}

/* Is there a wait on this side (AFTER or BEFORE) of this launch? Asked once for each launch and side. `name` gives the kernel's
 * name in `room`, and is asked only where it matters. */
enum { GDX_WAITS_ROOM = 1024 };
bool gdx_wait_here(enum gdx_waits side, void *kernel, const char *(*name)(void *kernel, char room[GDX_WAITS_ROOM]));
