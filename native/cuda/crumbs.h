/* Crumbs (core/crumbs.h) for CUDA: cuStreamWriteValue32 behind work, into host memory that is registered in each context.
 *
 * The memory is registered before the first launch of a context, when nothing can be running that waits for the host, and
 * never while a stream is being captured: both calls would spoil a capture. A stream that is being captured gets no crumbs;
 * the launch of a graph gets one. */
#pragma once

#include "core/crumbs.h"
#include "cuda/hooks.h"

enum { GDX_CU_CRUMB_CONTEXTS = 257 };  /* numbers of contexts are 1 to 256 (contexts.c) */
extern _Atomic(struct gdx_crumb_field *) gdx_cu_crumb_fields[GDX_CU_CRUMB_CONTEXTS];  /* NULL: not decided */

void gdx_cu_crumbs_open(void);
void gdx_cu_crumbs_put(struct gdx_open *open, CUstream queue, bool own_thread);
void gdx_cu_crumbs_queue_leaves(CUstream queue);
void gdx_cu_crumbs_forget(uint32_t context);      /* its context is gone, or another has its number */
void gdx_cu_crumbs_forget_device(CUdevice device);
void gdx_cu_crumbs_forget_all(void);              /* another driver was loaded */

/* Before a launch. */
static inline void gdx_cu_crumbs_ready(void)
{
    uint32_t context = gdx_cu_thread.context;
    if (GDX_UNLIKELY(!context || !atomic_load_explicit(&gdx_cu_crumb_fields[context], memory_order_relaxed))
        && gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_cu_crumbs_open();
}

/* Behind work that the driver took; `open` is the call that asked for it. */
static inline void gdx_cu_crumb(struct gdx_open *open, CUstream queue, bool own_thread, CUresult status)
{
    if (GDX_LIKELY(status == CUDA_SUCCESS) && gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_cu_crumbs_put(open, queue, own_thread);
}

static inline void gdx_cu_crumbs_leaving(CUstream queue)
{
    if (gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_cu_crumbs_queue_leaves(queue);
}
