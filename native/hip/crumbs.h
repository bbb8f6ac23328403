/* Crumbs (core/crumbs.h) for HIP: hipStreamWriteValue32 behind work, where the device says that it can (an AMD GPU: not tried on one,
 * only on the simulated runtime of tests/hip/sim).
 *
 * Every call of the runtime may set the error that hipGetLastError tells. Crumbs come only behind calls that succeeded, and a call
 * of ours that fails is followed by one that takes its error away. */
#pragma once

#include "core/crumbs.h"
#include "hip/hooks.h"

enum { GDX_HIP_CRUMB_DEVICES = 65 };  /* contexts are devices plus one (hooks.h) */
extern _Atomic(struct gdx_crumb_field *) gdx_hip_crumb_fields[GDX_HIP_CRUMB_DEVICES];

void gdx_hip_crumbs_open(void);
void gdx_hip_crumbs_put(struct gdx_open *open, hipStream_t queue, bool own_thread);
void gdx_hip_crumbs_queue_leaves(hipStream_t queue);
void gdx_hip_crumbs_forget(void);  /* the device was reset: what it knew of our memory is gone */

/* Before a launch, which sets the error anew. */
static inline void gdx_hip_crumbs_ready(void)
{
    uint32_t context = gdx_hip_thread.context;
    if (gdx_crumbs() != GDX_CRUMBS_OFF && context < GDX_HIP_CRUMB_DEVICES
        && GDX_UNLIKELY(!atomic_load_explicit(&gdx_hip_crumb_fields[context], memory_order_relaxed)))
        gdx_hip_crumbs_open();
}

/* Behind work that the runtime took; `open` is the call that asked for it. */
static inline void gdx_hip_crumb(struct gdx_open *open, hipStream_t queue, bool own_thread, hipError_t status)
{
    const uint32_t context = gdx_hip_thread.context;
    if (GDX_UNLIKELY(status != hipSuccess || gdx_crumbs() == GDX_CRUMBS_OFF || context >= GDX_HIP_CRUMB_DEVICES))
        return;
    struct gdx_crumb_field *field = atomic_load_explicit(&gdx_hip_crumb_fields[context], memory_order_relaxed);
    if (field && GDX_UNLIKELY(!gdx_crumb_rests(field, open, gdx_hip_queue(queue, own_thread))))
        gdx_hip_crumbs_put(open, queue, own_thread);
}

static inline void gdx_hip_crumbs_leaving(hipStream_t queue)
{
    if (gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_hip_crumbs_queue_leaves(queue);
}
