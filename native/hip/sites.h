/* Experiments at named calls (driver/sites.h) for HIP. */
#pragma once

#include "driver/sites.h"
#include "hip/hooks.h"

extern const struct gdx_site_api gdx_hip_site_api;

/* What is done at this call, for gdx_hip_site_ends. */
static inline unsigned gdx_hip_site_begins(const char *name, hipStream_t queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_site_reached(&gdx_hip_site_api, name, gdx_hip_queue(queue, own_thread)) : 0;
}

static inline unsigned gdx_hip_launch_begins(const void *kernel, hipStream_t queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_hip_site_begins(gdx_hip_name_of(kernel), queue, own_thread) : 0;
}

static inline void gdx_hip_site_ends(unsigned at, hipStream_t queue, bool own_thread, hipError_t status)
{
    if (GDX_UNLIKELY(at))
        gdx_site_left(&gdx_hip_site_api, at, gdx_hip_queue(queue, own_thread), status == hipSuccess);
}
