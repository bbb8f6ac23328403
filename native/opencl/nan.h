/* The first NaN (gpudx run --nan): floating-point buffers of each launch are looked at before and after it. */
#pragma once

#include "opencl/checks.h"

bool gdx_cl_nan_before(const char *kernel, const struct gdx_cl_launch *l);  /* is this launch looked at? */
void gdx_cl_nan_after(const struct gdx_cl_launch *l, cl_int status);
