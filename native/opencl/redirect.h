/* A lab's experiment (GPUDX_REDIRECT): some calls are made otherwise than the program asks, in one respect. A failure that goes shows
 * what the program gets wrong. The record keeps what the program asked for.
 *
 *     CALL=3,5-9=0:4>7,7>4     the first memory object of these calls of this name is the 7th that the process made where it is the 4th;
 *                              calls and objects are counted from 1 in each process
 *     CALL=all=1:4>7           the second one, in all calls of this name
 *     CALL=@app+1a2b;app+1c0d=...   calls with one of these return addresses on their stack: a file, and bytes from where it is mapped
 *     CALL=2-4=exchange        source and destination are exchanged, with their offsets, origins and pitches
 *     CALL=2-4=pitch0:400>512  the first of the two row pitches is 512 where it is 400
 *     KERNEL=2-4=argument1:4>7 these calls that set argument 1 of this kernel set it to another object
 *
 * Objects that others are to be replaced by are kept as long as the process lives, so that a replaced call meets none that is gone. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "cl_abi.h"
#include "core/recorder.h"

/* Parameters of a call, of its source and of its destination; one that has only one of them has it first. NULL: it has none such. */
struct gdx_cl_parts {
    cl_mem *mem[2];
    size_t *offset[2], *row[2], *slice[2];
    const size_t **origin[2];
};

extern _Atomic int gdx_cl_redirect_setting;  /* 0: not read yet, 1: off, 2: on */
void gdx_cl_redirect_call(const char *name, const struct gdx_cl_parts *parts);
void gdx_cl_redirect_made(cl_mem mem);
void gdx_cl_redirect_mapped(void *where, cl_mem mem, cl_mem asked);
void gdx_cl_redirect_unmapped(void *where, cl_mem *mem);
const void *gdx_cl_redirect_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, cl_mem *room);

static inline bool gdx_cl_redirects(void)
{
    return GDX_UNLIKELY(atomic_load_explicit(&gdx_cl_redirect_setting, memory_order_relaxed) != 1);
}
