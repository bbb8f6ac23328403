/* Programs that shut themselves in: with a filter of system calls (seccomp) that ends who makes one that is not on its list.
 *
 * The list is what the program and its drivers need. So after that the recorder makes no system call that they would not make
 * themselves: program memory that may go is not read, traces do not grow, no file is opened, no thread is started. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool gdx_shut_in;

static inline bool gdx_is_shut_in(void)
{
    return atomic_load_explicit(&gdx_shut_in, memory_order_relaxed);
}
