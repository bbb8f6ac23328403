/* See numbers.h. */
#define _GNU_SOURCE
#include "opencl/numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "opencl/exchange.h"

_Atomic int gdx_cl_numbers_setting GDX_HOT_DATA;
static struct { char kernel[GDX_CL_LONGEST_NAME]; cl_uint index; uint64_t before, after; } wish;

/* Read from the end, as the name may hold anything. */
static bool read_wish(const char *text)
{
    const char *at[3];
    size_t length = text ? strlen(text) : 0;
    for (int i = 2; i >= 0; i--) {
        at[i] = length ? memrchr(text, ':', length) : NULL;
        if (!at[i])
            return false;
        length = (size_t)(at[i] - text);
    }
    if (!length || length >= sizeof wish.kernel)
        return false;
    memcpy(wish.kernel, text, length);
    wish.index = (cl_uint)strtoul(at[0] + 1, NULL, 10);
    wish.before = strtoull(at[1] + 1, NULL, 16);
    wish.after = strtoull(at[2] + 1, NULL, 16);
    return true;
}

static bool on(void)
{
    int known = atomic_load(&gdx_cl_numbers_setting);
    if (!known) {  /* two threads may both read it, and come to the same */
        known = read_wish(getenv("GPUDX_OTHER_NUMBER")) ? 2 : 1;
        atomic_store(&gdx_cl_numbers_setting, known);
    }
    return known == 2;
}

const void *gdx_cl_number_instead(cl_kernel kernel, cl_uint index, size_t size, const void *value, uint64_t number)
{
    int saved = errno;
    bool mine = on() && value && size <= sizeof wish.after && index == wish.index && number == wish.before
                && gdx_cl_is_named(kernel, wish.kernel);
    errno = saved;
    return mine ? &wish.after : value;
}
