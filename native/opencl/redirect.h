/* What-if experiments (core/what_if.h) with calls that use something else: other memory, another direction, another pitch.
 *
 * Objects that others are to be replaced by are kept as long as the process lives, so that a replaced call meets none that is gone. */
#pragma once

#include <stddef.h>

#include "cl_abi.h"
#include "core/what_if.h"

/* Parameters of a call, of its source and of its destination; one that has only one of them has it first. NULL: it has none such. */
struct gdx_cl_parts {
    cl_mem *mem[2];
    size_t *offset[2], *row[2], *slice[2];
    const size_t **origin[2];
};

void gdx_cl_redirect_call(const char *name, const struct gdx_cl_parts *parts);
void gdx_cl_redirect_made(cl_mem mem);
void gdx_cl_redirect_mapped(void *where, cl_mem mem, cl_mem asked);
void gdx_cl_redirect_unmapped(void *where, cl_mem *mem);
const void *gdx_cl_redirect_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, cl_mem *room);

static inline bool gdx_cl_redirects(void)
{
    return GDX_UNLIKELY(gdx_what_if());
}
