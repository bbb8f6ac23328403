/* The first NaN (gpudx run --nan): floating-point buffers of each launch are looked at before and after it. A launch that has some after
 * it and had none before has made it. */
#pragma once

#include "opencl/checks.h"

enum { GDX_NAN_ARGUMENTS = 64 };
struct gdx_nan_look { uint64_t count[2], first[2], elements; };  /* [0] infinities, [1] NaN */
struct gdx_cl_nan {
    char kernel[256];
    uint64_t launch, of_kernel, before[2];
    uint8_t sizes[GDX_NAN_ARGUMENTS];  /* of a number; 0: the argument is not looked at */
    bool exact;                        /* was it looked at before, too? */
};
bool gdx_cl_nan_before(const char *kernel, const struct gdx_cl_launch *l, struct gdx_cl_nan *n);  /* is this launch looked at? */
void gdx_cl_nan_after(struct gdx_cl_nan *n, const struct gdx_cl_launch *l, cl_int status);
