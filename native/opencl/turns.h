/* A lab's experiment (GPUDX_TURNS=1): a thread has a kernel object to itself from its first argument to the end of its launch
 * call. It removes the sharing of argument values between threads, and nothing else: a failure that comes from this sharing
 * must go.
 *
 * No program may stand still because of us: threads that set arguments and never launch, or two kernels in opposite order,
 * would wait for ever. So a turn is taken over after a while; the record then shows the values of two threads interleaved,
 * and the run does not count. */
#pragma once

#include <stdatomic.h>

#include "cl_abi.h"
#include "core/recorder.h"

extern _Atomic int gdx_cl_turns_setting;  /* 0: not read yet, 1: off, 2: on */
void gdx_cl_turn_take(cl_kernel kernel);
void gdx_cl_turn_give(cl_kernel kernel);

static inline void gdx_cl_turn_begins(cl_kernel kernel)
{
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_cl_turns_setting, memory_order_relaxed) != 1))
        gdx_cl_turn_take(kernel);
}

static inline void gdx_cl_turn_ends(cl_kernel kernel)
{
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_cl_turns_setting, memory_order_relaxed) != 1))
        gdx_cl_turn_give(kernel);
}
