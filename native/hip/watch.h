/* Watching HIP memory (core/watch.h): what the wrappers tell watch.c. Calls that submit work say so before their end is
 * recorded. The runtime is asked nothing after a call that failed (hooks.h). */
#pragma once

#include "core/watch.h"
#include "hip/hooks.h"

void gdx_hip_watch_submit(uint64_t queue);
void gdx_hip_watch_queue_leaves(hipStream_t queue);
void gdx_hip_watch_make(uint64_t address, size_t bytes, bool now);
void gdx_hip_watch_drop(uint64_t address);
void gdx_hip_watch_forget(void);  /* another runtime: all that is known was about the old one */
void gdx_hip_watch_look(bool patient);

static inline void gdx_hip_watch_submitted(hipStream_t queue, bool own_thread, hipError_t status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == hipSuccess)
        gdx_hip_watch_submit(gdx_hip_queue(queue, own_thread));
}
static inline void gdx_hip_watch_leaving(hipStream_t queue)
{
    if (GDX_UNLIKELY(gdx_watching()))
        gdx_hip_watch_queue_leaves(queue);
}
/* now: it can be read at once; else only in the order of a stream */
static inline void gdx_hip_watch_made(void *const *result, size_t bytes, bool now, hipError_t status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == hipSuccess && result && *result && bytes && gdx_on())
        gdx_hip_watch_make(GDX_HIP_WORD(*result), bytes, now);
}
static inline void gdx_hip_watch_cannot(uint64_t address, size_t bytes, const char *why, hipError_t status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == hipSuccess)
        gdx_watch_miss(address, bytes, why);
}
static inline void gdx_hip_watch_freeing(uint64_t address)
{
    if (GDX_UNLIKELY(gdx_watching()) && address)
        gdx_hip_watch_drop(address);
}
static inline void gdx_hip_watch_waited(hipError_t status)
{
    if (GDX_UNLIKELY(gdx_watching()) && status == hipSuccess)
        gdx_hip_watch_look(false);
}
/* Before and after a launch, where the launch that changes something is to be named. */
static inline void gdx_hip_watch_launch(bool after)
{
    if (GDX_UNLIKELY(gdx_watching() == GDX_WATCH_LAUNCHES))
        gdx_hip_watch_look(after);
}
