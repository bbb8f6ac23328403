/* A lab's experiment (GPUDX_EXCHANGE=kernel:1:2): two arguments of a kernel get each other's values; with "=app+1a2b" behind that, only
 * where they are set by calls with this return address on their stack (frames.h). The record keeps what the program asked for. A failure that goes shows that the program passes them in the wrong order. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "cl_abi.h"
#include "core/recorder.h"

enum { GDX_CL_LONGEST_NAME = 256 };  /* of a kernel that an experiment is about */

bool gdx_cl_is_named(cl_kernel kernel, const char *wanted);

extern _Atomic int gdx_cl_exchange_setting;  /* 0: not read yet, 1: off, 2: on */
cl_uint gdx_cl_exchanged_index(cl_kernel kernel, cl_uint index);

/* The argument that the driver is to be given in place of `index`. */
static inline cl_uint gdx_cl_exchanged(cl_kernel kernel, cl_uint index)
{
    if (GDX_LIKELY(atomic_load_explicit(&gdx_cl_exchange_setting, memory_order_relaxed) == 1))
        return index;
    return gdx_cl_exchanged_index(kernel, index);
}
