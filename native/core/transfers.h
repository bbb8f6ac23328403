/* A lab's experiment (GPUDX_BLOCKING_TRANSFERS): transfers between host and device that return early are complete when their
 * call returns.
 *
 *     all               every such transfer
 *     N,N-N,...         only these, counted from 1 in each process in the order in which the calls are made
 *
 * What was waited for, or why not, is recorded (note_at_site, bit 8). Off, it is one load and one branch. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "core/recorder.h"

extern _Atomic int gdx_transfers_setting;  /* 0: not read yet, 1: off, 2: on */
int gdx_read_transfers(void);
static inline bool gdx_blocking_transfers(void)
{
    int known = atomic_load_explicit(&gdx_transfers_setting, memory_order_relaxed);
    return (GDX_UNLIKELY(!known) ? gdx_read_transfers() : known) == 2;
}

bool gdx_transfer_here(void);  /* is this transfer to be waited for? Asked once for each that returns early */
