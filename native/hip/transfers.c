/* The wait behind a transfer (core/transfers.h). It is not recorded: the record has the calls of the program. */
#define _GNU_SOURCE
#include "hip/hooks.h"

#include <errno.h>

#include "core/sites.h"

static const char *wait_for(hipStream_t queue, bool own_thread)
{
    if (atomic_load(&gdx_hip_captures) > 0)  /* a wait would spoil a capture */
        return "a stream was being captured";
    hipError_t status = own_thread && gdx_hip_next.hipStreamSynchronize_spt ? gdx_hip_next.hipStreamSynchronize_spt(queue)
                                                                  : gdx_hip_next.hipStreamSynchronize(queue);
    return status == hipSuccess ? NULL : "the stream reported an error";
}

void gdx_hip_transfer_left(hipStream_t queue, bool own_thread)
{
    int saved = errno;
    if (gdx_on() && gdx_transfer_here())
        gdx_sites_noted(GDX_AT_TRANSFER, wait_for(queue, own_thread));
    errno = saved;
}
