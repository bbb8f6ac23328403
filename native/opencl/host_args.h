/* Host memory behind the arguments of launches: is it the same when the program next waits? Only where GPUDX_HOST_ARGS is set.
 *
 * Buffers on the program's own memory, buffers that were mapped, and shared virtual memory: while a kernel may be working on them, the
 * host must not write there. A look at them is kept at the launch, and compared as the sources of copies are (core/sources.h). Whether
 * the kernel itself may have written is for the analysis to say. */
#pragma once

#include "opencl/hooks.h"

extern _Atomic int gdx_host_args_setting;  /* -1: not read yet */
int gdx_host_args_read(void);
static inline bool gdx_host_args(void)
{
    int setting = gdx_host_args_setting;
    return GDX_UNLIKELY(setting && (setting > 0 || gdx_host_args_read()));
}

void gdx_cl_host_memory(const void *object, const void *address, size_t size);  /* what lies behind a buffer or a pointer */
void gdx_cl_host_launched(cl_kernel kernel);
