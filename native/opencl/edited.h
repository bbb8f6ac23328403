/* A lab's experiment (GPUDX_EDITED=FOLDER): a source for which the folder has another text is given to the driver in that text. The file is
 * named by the 64-bit FNV-1a hash of the program's text, in 16 hexadecimal digits, with ".cl". The record keeps the program's text. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "cl_abi.h"
#include "core/recorder.h"

extern _Atomic int gdx_cl_edited_setting;  /* 0: not read yet, 1: off, 2: on */
char *gdx_cl_edited_text(cl_uint count, const char **strings, const size_t *lengths, size_t *bytes);

/* The other text, for munmap; NULL: the program's own is to be given. */
static inline char *gdx_cl_edited(cl_uint count, const char **strings, const size_t *lengths, size_t *bytes)
{
    if (GDX_LIKELY(atomic_load_explicit(&gdx_cl_edited_setting, memory_order_relaxed) == 1))
        return NULL;
    return gdx_cl_edited_text(count, strings, lengths, bytes);
}
