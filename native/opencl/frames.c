/* See frames.h. */
#define _GNU_SOURCE
#include "opencl/frames.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"

enum { DEPTH = 48 };

bool gdx_cl_read_frames(struct gdx_cl_frames *frames, const char *text, const char *end)
{
    while (text < end && frames->count < GDX_CL_FRAMES) {
        const char *semicolon = memchr(text, ';', (size_t)(end - text)), *last = semicolon ? semicolon : end;
        const char *plus = memrchr(text, '+', (size_t)(last - text));
        if (!plus || plus - text >= GDX_CL_LONGEST_FILE)
            return false;
        memcpy(frames->at[frames->count].file, text, (size_t)(plus - text));
        frames->at[frames->count++].bytes = strtoull(plus + 1, NULL, 16);
        text = last + (last < end);
    }
    return text == end && frames->count;
}

static bool is_frame(const struct gdx_cl_frames *frames, void *at)
{
    Dl_info found;
    if (!dladdr(at, &found) || !found.dli_fname)
        return false;
    const char *slash = strrchr(found.dli_fname, '/'), *file = slash ? slash + 1 : found.dli_fname;
    for (unsigned i = 0; i < frames->count; i++)
        if ((uintptr_t)at - (uintptr_t)found.dli_fbase == frames->at[i].bytes && !strcmp(file, frames->at[i].file))
            return true;
    return false;
}

bool gdx_cl_is_from(const struct gdx_cl_frames *frames)
{
    void *stack[DEPTH];
    int count = gdx_backtrace(stack, DEPTH);
    for (int i = 0; i < count; i++)
        if (is_frame(frames, stack[i]))
            return true;
    return false;
}
