/* See sites.h. */
#define _GNU_SOURCE
#include "cuda/sites.h"

#include <errno.h>
#include <stdlib.h>

static _Atomic(CUevent) first_ends;

/* The handle of a thread's own default stream is good in every entry (driver API reference, stream synchronization behavior). */
static CUstream meant(CUstream queue, bool own_thread)
{
    return (CUstream)(uintptr_t)gdx_cu_queue(queue, own_thread);
}

/* In a thread of the driver's. It makes no call of the API, as host functions must not (driver API reference, cuLaunchHostFunc). */
static void sleep_there(void *nothing)
{
    (void)nothing;
    gdx_hold_sleep();
}

static const char *add_hold(CUstream queue)
{
    if (!gdx_cu_next.cuLaunchHostFunc || gdx_cu_next.cuLaunchHostFunc(queue, sleep_there, NULL) != CUDA_SUCCESS)
        return "the driver took no host function";
    atexit(gdx_hold_ends);
    return NULL;
}

static const char *add_edge(CUstream queue)
{
    CUevent event = atomic_load(&first_ends);
    if (!event)
        return "the first call had not been made by then";
    return gdx_cu_next.cuStreamWaitEvent(queue, event, 0) == CUDA_SUCCESS ? NULL : "the driver took no wait for an event";
}

/* The event stays: there is one in a process. */
static const char *keep_end(CUstream queue)
{
    CUevent event;
    if (gdx_cu_next.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS
        || gdx_cu_next.cuEventRecord(event, queue) != CUDA_SUCCESS)
        return "the driver took no event";
    atomic_store(&first_ends, event);
    return NULL;
}

static unsigned without(unsigned at, unsigned bits, const char *why_not)
{
    if (!why_not)
        return at;
    gdx_site_noted(at & bits, why_not);
    return at & ~bits;
}

unsigned gdx_cu_site_reached(const char *name, CUstream queue, bool own_thread)
{
    int saved = errno;
    unsigned at = gdx_on() ? gdx_sites_here(name) : 0;
    if (at && atomic_load(&gdx_cu_captures) > 0)
        at = without(at, at, "a stream was being captured");
    if (at & GDX_AT_HELD)
        at = without(at, GDX_AT_HELD, add_hold(meant(queue, own_thread)));
    if (at & GDX_AT_SECOND)
        at = without(at, GDX_AT_SECOND, add_edge(meant(queue, own_thread)));
    errno = saved;
    return at;
}

void gdx_cu_site_left(unsigned at, CUstream queue, bool own_thread, CUresult status)
{
    int saved = errno;
    if (status != CUDA_SUCCESS)
        at = without(at, at, "the driver refused the call");
    if (at & GDX_AT_FIRST)
        at = without(at, GDX_AT_FIRST, keep_end(meant(queue, own_thread)));
    if (at)
        gdx_site_noted(at, NULL);
    errno = saved;
}
