/* What-if experiments (core/what_if.h) on the arguments of kernels: two get each other's values, or one gets another number. */
#pragma once

#include "cl_abi.h"
#include "core/what_if.h"

bool gdx_cl_is_named(cl_kernel kernel, const char *wanted);
cl_uint gdx_cl_exchanged_index(cl_kernel kernel, cl_uint index);
const void *gdx_cl_number_instead(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number);

/* The argument that the driver is to be given in place of `index`. */
static inline cl_uint gdx_cl_exchanged(cl_kernel kernel, cl_uint index)
{
    return GDX_UNLIKELY(gdx_what_if()) ? gdx_cl_exchanged_index(kernel, index) : index;
}

/* What the driver is to read in place of `value`, which holds `number`. */
static inline const void *gdx_cl_number(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number)
{
    return GDX_UNLIKELY(gdx_what_if()) ? gdx_cl_number_instead(kernel, index, size, value, number) : value;
}
