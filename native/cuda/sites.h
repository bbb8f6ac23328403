/* Experiments at named calls (core/sites.h) for CUDA: a host function that sleeps stands in the stream before work that is held,
 * an event of ours behind the first call's work and a wait for it before the second's. None of it is recorded as a call, and none
 * is done while a stream is being captured. */
#pragma once

#include "core/sites.h"
#include "cuda/hooks.h"

unsigned gdx_cu_site_reached(const char *name, CUstream queue, bool own_thread);
void gdx_cu_site_left(unsigned at, CUstream queue, bool own_thread, CUresult status);

/* What is done at this call, for gdx_cu_site_ends. */
static inline unsigned gdx_cu_site_begins(const char *name, CUstream queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_cu_site_reached(name, queue, own_thread) : 0;
}

static inline unsigned gdx_cu_launch_begins(CUfunction kernel, CUstream queue, bool own_thread)
{
    return GDX_UNLIKELY(gdx_sites()) ? gdx_cu_site_reached(gdx_cu_name_of(kernel), queue, own_thread) : 0;
}

static inline void gdx_cu_site_ends(unsigned at, CUstream queue, bool own_thread, CUresult status)
{
    if (GDX_UNLIKELY(at))
        gdx_cu_site_left(at, queue, own_thread, status);
}
