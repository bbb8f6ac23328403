/* See exchange.h. */
#define _GNU_SOURCE
#include "opencl/exchange.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/frames.h"
#include "opencl/hooks.h"

_Atomic int gdx_cl_exchange_setting GDX_HOT_DATA;
static char name[GDX_CL_LONGEST_NAME];
static cl_uint first, second;
static struct gdx_cl_frames frames;  /* none: all calls */

/* "kernel:1:2=frames": no kernel has a colon in its name. */
static bool read_wish(const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL, *end = text ? text + strlen(text) : NULL;
    const char *last = text ? memrchr(text, ':', (size_t)((equals ? equals : end) - text)) : NULL;
    if (!last || last == text || (equals && !gdx_cl_read_frames(&frames, equals + 1, end)))
        return false;
    const char *middle = memrchr(text, ':', (size_t)(last - text));
    if (!middle || middle - text >= GDX_CL_LONGEST_NAME)
        return false;
    memcpy(name, text, (size_t)(middle - text));
    first = (cl_uint)strtoul(middle + 1, NULL, 10);
    second = (cl_uint)strtoul(last + 1, NULL, 10);
    return true;
}

static bool on(void)
{
    int known = atomic_load(&gdx_cl_exchange_setting);
    if (!known) {  /* two threads may both read it, and come to the same */
        known = read_wish(getenv("GPUDX_EXCHANGE")) ? 2 : 1;
        atomic_store(&gdx_cl_exchange_setting, known);
    }
    return known == 2;
}

bool gdx_cl_is_named(cl_kernel kernel, const char *wanted)
{
    char own[GDX_CL_LONGEST_NAME] = "";
    return gdx_cl_next.clGetKernelInfo
           && gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof own, own, NULL) == CL_SUCCESS
           && strcmp(own, wanted) == 0;
}

cl_uint gdx_cl_exchanged_index(cl_kernel kernel, cl_uint index)
{
    int saved = errno;
    bool mine = on() && (index == first || index == second) && gdx_cl_is_named(kernel, name)
                && (!frames.count || gdx_cl_is_from(&frames));
    errno = saved;
    return !mine ? index : index == first ? second : first;
}
