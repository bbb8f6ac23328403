/* A lab's experiment (GPUDX_OTHER_NUMBER=kernel:argument:old:new, both in hexadecimal): where the program passes one number to a kernel, the
 * driver gets another one of the same size. The record keeps what the program asked for. A failure that goes shows that the number is wrong. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cl_abi.h"
#include "core/recorder.h"

extern _Atomic int gdx_cl_numbers_setting;  /* 0: not read yet, 1: off, 2: on */
const void *gdx_cl_number_instead(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number);

/* What the driver is to read in place of `value`, which holds `number`. */
static inline const void *gdx_cl_number(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number)
{
    if (GDX_LIKELY(atomic_load_explicit(&gdx_cl_numbers_setting, memory_order_relaxed) == 1))
        return value;
    return gdx_cl_number_instead(kernel, index, size, value, number);
}
