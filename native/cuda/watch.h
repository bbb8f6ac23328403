/* Watching CUDA memory (core/watch.h): what the wrappers tell watch.c. Calls that submit work say so before their end is
 * recorded. */
#pragma once

#include "core/watch.h"
#include "cuda/hooks.h"

void gdx_cu_watch_submit(uint64_t queue);
void gdx_cu_watch_queue_leaves(CUstream queue);
void gdx_cu_watch_make(CUdeviceptr address, size_t bytes, bool now);
void gdx_cu_watch_drop(uint64_t address);
void gdx_cu_watch_forget(CUcontext context);  /* it is about to go; NULL: all of them */
void gdx_cu_watch_forget_inactive(CUdevice device);
void gdx_cu_watch_look(bool patient);

static inline void gdx_cu_watch_submitted(CUstream queue, bool own_thread, CUresult status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == CUDA_SUCCESS)
        gdx_cu_watch_submit(gdx_cu_queue(queue, own_thread));
}
static inline void gdx_cu_watch_leaving(CUstream queue)
{
    if (GDX_UNLIKELY(gdx_watching()))
        gdx_cu_watch_queue_leaves(queue);
}
/* now: it can be read at once; else only in the order of a stream */
static inline void gdx_cu_watch_made(const CUdeviceptr *result, size_t bytes, bool now, CUresult status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == CUDA_SUCCESS && result && bytes && gdx_on())
        gdx_cu_watch_make(*result, bytes, now);
}
static inline void gdx_cu_watch_cannot(uint64_t address, size_t bytes, const char *why, CUresult status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == CUDA_SUCCESS)
        gdx_watch_miss(address, bytes, why);
}
static inline void gdx_cu_watch_freeing(uint64_t address)
{
    if (GDX_UNLIKELY(gdx_watching()) && address)
        gdx_cu_watch_drop(address);
}
static inline void gdx_cu_watch_waited(CUresult status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == CUDA_SUCCESS)
        gdx_cu_watch_look(false);
}
/* Before and after a launch, where the launch that changes something is to be named. */
static inline void gdx_cu_watch_launch(bool after)
{
    if (GDX_UNLIKELY(gdx_watching() == GDX_WATCH_LAUNCHES))
        gdx_cu_watch_look(after);
}
