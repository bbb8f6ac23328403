/* The wait behind a transfer (core/transfers.h). It is not recorded: the record has the calls of the program. */
#define _GNU_SOURCE
#include "cuda/hooks.h"

#include <errno.h>

#include "core/sites.h"

static const char *wait_for(CUstream queue, bool own_thread)
{
    if (atomic_load(&gdx_cu_captures) > 0)  /* a wait would spoil a capture */
        return "a stream was being captured";
    CUresult status = own_thread && gdx_cu_next.cuStreamSynchronize_ptsz ? gdx_cu_next.cuStreamSynchronize_ptsz(queue)
                                                                  : gdx_cu_next.cuStreamSynchronize(queue);
    return status == CUDA_SUCCESS ? NULL : "the stream reported an error";
}

void gdx_cu_transfer_left(CUstream queue, bool own_thread)
{
    int saved = errno;
    if (gdx_on() && gdx_transfer_here())
        gdx_sites_noted(GDX_AT_TRANSFER, wait_for(queue, own_thread));
    errno = saved;
}
