/* A lab's experiment at one or two named calls, and only there:
 *
 *     GPUDX_HOLD=SITE:MS        the work of this call begins so many milliseconds late, on the device
 *     GPUDX_EDGE=SITE>SITE      the work of the second call begins when that of the first has ended
 *     GPUDX_EDGE=NAME:*>NAME:*  the same at every call of these names, both ways: the work of each begins when all earlier work of
 *                               the other has ended
 *
 * SITE is NAME:NUMBER, the n-th launch of a kernel by its compiled name, or the n-th call of a name, counted from 1 in each
 * process. What was done at a site, or why nothing was, stands in the record (note_at_site): a run whose sites never came is a
 * plain one. The thread of the program never waits for us. Off, it is one load and one branch. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "core/recorder.h"

enum gdx_at { GDX_AT_HELD = 1, GDX_AT_FIRST = 2, GDX_AT_SECOND = 4, GDX_AT_TRANSFER = 8 };  /* bits; the last: core/transfers.h */

extern _Atomic int gdx_sites_setting;  /* 0: not read yet, 1: off, 2: on */
int gdx_read_sites(void);
static inline bool gdx_sites(void)
{
    int known = atomic_load_explicit(&gdx_sites_setting, memory_order_relaxed);
    return (GDX_UNLIKELY(!known) ? gdx_read_sites() : known) == 2;
}

unsigned gdx_sites_here(const char *name);  /* what is to be done at this call; asked once for each, NULL: no name is known */
bool gdx_edge_everywhere(void);             /* is the edge wanted at every call of the two names? */
void gdx_site_noted(unsigned at, const char *why_not);  /* NULL: it was done */
void gdx_sites_noted(unsigned at, const char *why_not); /* the same for what happens often: only now and then */

/* Sleeps for as long as the work is held, or until the process ends: for a thread that is not the program's. */
void gdx_hold_sleep(void);
void gdx_hold_ends(void);
