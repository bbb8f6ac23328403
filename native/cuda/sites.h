/* Experiments at named calls (driver/sites.h) for CUDA. */
#pragma once

#include "cuda/hooks.h"
#include "driver/sites.h"

extern const struct gdx_site_api gdx_cu_site_api;

/* What is done at this call, for gdx_cu_site_ends. The handle of a thread's own default stream is good in every entry (driver API
 * reference, stream synchronization behavior). */
static inline unsigned gdx_cu_site_begins(const char *name, CUstream queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_site_reached(&gdx_cu_site_api, name, gdx_cu_queue(queue, own_thread)) : 0;
}

static inline unsigned gdx_cu_launch_begins(CUfunction kernel, CUstream queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_cu_site_begins(gdx_cu_name_of(kernel), queue, own_thread) : 0;
}

static inline void gdx_cu_site_ends(unsigned at, CUstream queue, bool own_thread, CUresult status)
{
    if (GDX_UNLIKELY(at))
        gdx_site_left(&gdx_cu_site_api, at, gdx_cu_queue(queue, own_thread), status == CUDA_SUCCESS);
}
