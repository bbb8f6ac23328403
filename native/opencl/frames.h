/* Calls that are known by a return address on their stack, as a lab names them: "app+1a2b;app+1c0d", files and bytes from where they are
 * mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GDX_CL_FRAMES = 8, GDX_CL_LONGEST_FILE = 256 };

struct gdx_cl_frames {
    struct { char file[GDX_CL_LONGEST_FILE]; uintptr_t bytes; } at[GDX_CL_FRAMES];
    unsigned count;
};

bool gdx_cl_read_frames(struct gdx_cl_frames *frames, const char *text, const char *end);  /* all of it, and one at least? */
bool gdx_cl_is_from(const struct gdx_cl_frames *frames);                                    /* is the current call? */
