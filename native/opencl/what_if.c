/* See what_if.h. */
#define _GNU_SOURCE
#include "opencl/what_if.h"

#include <errno.h>
#include <string.h>

#include "opencl/hooks.h"

bool gdx_cl_is_named(cl_kernel kernel, const char *wanted)
{
    char own[GDX_WHAT_IF_NAME] = "";
    return *wanted && gdx_cl_next.clGetKernelInfo
           && gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof own, own, NULL) == CL_SUCCESS
           && strcmp(own, wanted) == 0;
}

cl_uint gdx_cl_exchanged_index(cl_kernel kernel, cl_uint index)
{
    const cl_uint first = gdx_asked.exchange.first, second = gdx_asked.exchange.second;
    int saved = errno;
    bool mine = (index == first || index == second) && gdx_cl_is_named(kernel, gdx_asked.exchange.kernel)
                && gdx_exchange_is_here();
    errno = saved;
    return !mine ? index : index == first ? second : first;
}

const void *gdx_cl_number_instead(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number)
{
    int saved = errno;
    bool mine = value && size <= sizeof number && index == gdx_asked.number.index && gdx_asked.number.at == GDX_WHOLE && number == gdx_asked.number.before
                && gdx_cl_is_named(kernel, gdx_asked.number.kernel);
    errno = saved;
    return mine ? &gdx_asked.number.after : value;
}
