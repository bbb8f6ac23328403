/* See serialise.h. */
#include "core/serialise.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/recorder.h"

/* Asked once, so a program that changes its environment later does not change our mind. */
bool gdx_serialised(void)
{
    static _Atomic int known;  /* 0: not asked yet, 1: no, 2: yes */
    int state = atomic_load_explicit(&known, memory_order_relaxed);
    if (GDX_UNLIKELY(!state)) {
        const char *value = getenv("GPUDX_SERIALISE");
        state = value && *value == '1' ? 2 : 1;
        atomic_store(&known, state);
    }
    return state == 2;
}
