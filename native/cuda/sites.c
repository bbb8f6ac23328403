/* See sites.h. */
#define _GNU_SOURCE
#include "cuda/sites.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static _Atomic(CUevent) first_ends;

/* At every call of the two names: the last work of each of the two, by stream. A wait is for what the event was recorded for by then
 * (driver API reference, cuStreamWaitEvent), so events are used again. */
enum { STREAMS = 32, EDGE = GDX_AT_FIRST | GDX_AT_SECOND };
struct end { CUstream queue; CUevent event; };
static struct { struct end of[STREAMS]; unsigned count; } ends[2];
static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;

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

static const char *wait_for_ends(int side, CUstream queue)
{
    const char *why_not = NULL;
    pthread_mutex_lock(&ends_lock);
    for (unsigned i = 0; i < STREAMS && i < ends[side].count; i++)
        if (ends[side].of[i].queue != queue && gdx_cu_next.cuStreamWaitEvent(queue, ends[side].of[i].event, 0) != CUDA_SUCCESS)
            why_not = "the driver took no wait for an event";
    pthread_mutex_unlock(&ends_lock);
    return why_not;
}

/* The place of a stream, or one to be taken from another. */
static struct end *end_of(int side, CUstream queue)
{
    for (unsigned i = 0; i < STREAMS && i < ends[side].count; i++)
        if (ends[side].of[i].queue == queue)
            return &ends[side].of[i];
    return &ends[side].of[ends[side].count++ % STREAMS];
}

static const char *remember_end(int side, CUstream queue)
{
    pthread_mutex_lock(&ends_lock);
    struct end *end = end_of(side, queue);
    CUresult status = end->event ? gdx_cu_next.cuEventRecord(end->event, queue) : CUDA_ERROR_INVALID_HANDLE;
    if (status != CUDA_SUCCESS && gdx_cu_next.cuEventCreate(&end->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        status = gdx_cu_next.cuEventRecord(end->event, queue);  /* the other was of another context */
    end->queue = queue;
    pthread_mutex_unlock(&ends_lock);
    return status == CUDA_SUCCESS ? NULL : "the driver took no event";
}

static const char *every_edge(unsigned at, CUstream queue, const char *(*what)(int side, CUstream queue), bool own)
{
    const char *one = at & GDX_AT_FIRST ? what(own ? 0 : 1, queue) : NULL;
    const char *two = at & GDX_AT_SECOND ? what(own ? 1 : 0, queue) : NULL;
    return one ? one : two;
}

static unsigned without(unsigned at, unsigned bits, const char *why_not)
{
    if (!why_not)
        return at;
    (gdx_edge_everywhere() ? gdx_sites_noted : gdx_site_noted)(at & bits, why_not);
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
    if (at & EDGE && gdx_edge_everywhere())
        at = without(at, EDGE, every_edge(at, meant(queue, own_thread), wait_for_ends, false));
    else if (at & GDX_AT_SECOND)
        at = without(at, GDX_AT_SECOND, add_edge(meant(queue, own_thread)));
    errno = saved;
    return at;
}

void gdx_cu_site_left(unsigned at, CUstream queue, bool own_thread, CUresult status)
{
    int saved = errno;
    if (status != CUDA_SUCCESS)
        at = without(at, at, "the driver refused the call");
    if (at & EDGE && gdx_edge_everywhere())
        at = without(at, EDGE, every_edge(at, meant(queue, own_thread), remember_end, true));
    else if (at & GDX_AT_FIRST)
        at = without(at, GDX_AT_FIRST, keep_end(meant(queue, own_thread)));
    if (at)
        (gdx_edge_everywhere() ? gdx_sites_noted : gdx_site_noted)(at, NULL);
    errno = saved;
}
