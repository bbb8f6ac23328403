/* A lab's experiment (GPUDX_PERTURB=seed): small random delays before launches. What depends on timing changes its rate;
 * what does not stays. Off, it is one load and one branch. */
#pragma once

#include <stdatomic.h>

#include "core/recorder.h"

extern _Atomic int gdx_perturb_setting;  /* 0: not read yet, 1: off, 2: on */
void gdx_perturb_pause(void);
static inline void gdx_perturb(void)
{
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_perturb_setting, memory_order_relaxed) != 1))
        gdx_perturb_pause();
}
