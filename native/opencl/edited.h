/* A lab's experiment (GPUDX_EDITED=FOLDER): a source for which the folder has another text is given to the driver in that text. The file is
 * named by the 64-bit FNV-1a hash of the program's text, in 16 hexadecimal digits, with ".cl". The record keeps the program's text.
 *
 * With GPUDX_SWITCH=NUMBER the other texts hold many changes: their kernels have one parameter more, the last one, which says which change
 * is on. It is set when the kernel is made. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "cl_abi.h"
#include "core/recorder.h"

extern _Atomic int gdx_cl_edited_setting;  /* 0: not read yet, 1: off, 2: on */
char *gdx_cl_edited_text(cl_uint count, const char **strings, const size_t *lengths, size_t *bytes);
void gdx_cl_edited_made(cl_program program);
void gdx_cl_edited_switch(cl_program program, cl_kernel kernel);

/* The other text, for munmap; NULL: the program's own is to be given. */
static inline char *gdx_cl_edited(cl_uint count, const char **strings, const size_t *lengths, size_t *bytes)
{
    if (GDX_LIKELY(atomic_load_explicit(&gdx_cl_edited_setting, memory_order_relaxed) == 1))
        return NULL;
    return gdx_cl_edited_text(count, strings, lengths, bytes);
}

static inline void gdx_cl_switch(cl_program program, cl_kernel kernel)
{
    if (!GDX_LIKELY(atomic_load_explicit(&gdx_cl_edited_setting, memory_order_relaxed) == 1) && kernel)
        gdx_cl_edited_switch(program, kernel);
}
