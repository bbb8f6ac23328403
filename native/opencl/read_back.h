/* A lab's question (GPUDX_READ_BACK=1): what is in the data that the program reads back? Each blocking read and map is looked at as a whole
 * when it returns, each other one at the next wait (note_brought): a change with which a program passes because all it reads is NaN, or
 * is zero, is not what was meant. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/recorder.h"

extern _Atomic int gdx_cl_read_back_setting;  /* 0: not read yet, 1: off, 2: on */
bool gdx_cl_read_back_wanted(void);
void gdx_cl_read_back_is(const void *buffer, const void *address, size_t size, bool done);
void gdx_cl_read_back_waited(void);

static inline bool gdx_cl_read_back(void)
{
    return !GDX_LIKELY(atomic_load_explicit(&gdx_cl_read_back_setting, memory_order_relaxed) == 1) && gdx_cl_read_back_wanted();
}
