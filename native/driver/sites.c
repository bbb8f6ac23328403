/* See sites.h. */
#define _GNU_SOURCE
#include "driver/sites.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define NO_EVENT "the driver took no event"
#define NO_WAIT "the driver took no wait for an event"

static _Atomic uint64_t first_ends;

/* At every call of the two names: the last work of each of the two, by stream. A wait is for what the event was recorded for by then
 * (CUDA driver API reference, cuStreamWaitEvent), so events are used again. */
enum { STREAMS = 32, EDGE = GDX_AT_FIRST | GDX_AT_SECOND };
struct end { uint64_t queue, event; };
static struct { struct end of[STREAMS]; unsigned count; } ends[2];
static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;

/* In a thread of the driver's. It makes no call of the API, as host functions must not (CUDA driver API reference,
 * cuLaunchHostFunc). */
static void sleep_there(void *nothing)
{
    (void)nothing;
    gdx_hold_sleep();
}

static const char *add_hold(const struct gdx_site_api *api, uint64_t queue)
{
    if (!api->hold(queue, sleep_there))
        return "the driver took no host function";
    atexit(gdx_hold_ends);
    return NULL;
}

static const char *add_edge(const struct gdx_site_api *api, uint64_t queue)
{
    uint64_t event = atomic_load(&first_ends);
    if (!event)
        return "the first call had not been made by then";
    return api->wait(queue, event) ? NULL : NO_WAIT;
}

/* The event stays: there is one in a process. */
static const char *keep_end(const struct gdx_site_api *api, uint64_t queue)
{
    uint64_t event = api->new_event();
    if (!event || !api->record(event, queue))
        return NO_EVENT;
    atomic_store(&first_ends, event);
    return NULL;
}

typedef const char *at_side(const struct gdx_site_api *api, int side, uint64_t queue);

static const char *wait_for_ends(const struct gdx_site_api *api, int side, uint64_t queue)
{
    const char *why_not = NULL;
    pthread_mutex_lock(&ends_lock);
    for (unsigned i = 0; i < STREAMS && i < ends[side].count; i++)
        if (ends[side].of[i].queue != queue && !api->wait(queue, ends[side].of[i].event))
            why_not = NO_WAIT;
    pthread_mutex_unlock(&ends_lock);
    return why_not;
}

/* The place of a stream, or one to be taken from another. */
static struct end *end_of(int side, uint64_t queue)
{
    for (unsigned i = 0; i < STREAMS && i < ends[side].count; i++)
        if (ends[side].of[i].queue == queue)
            return &ends[side].of[i];
    return &ends[side].of[ends[side].count++ % STREAMS];
}

static const char *remember_end(const struct gdx_site_api *api, int side, uint64_t queue)
{
    pthread_mutex_lock(&ends_lock);
    struct end *end = end_of(side, queue);
    bool recorded = end->event && api->record(end->event, queue);
    if (!recorded) {
        uint64_t event = api->new_event();  /* the other was of another context */
        end->event = event ? event : end->event;
        recorded = event && api->record(event, queue);
    }
    end->queue = queue;
    pthread_mutex_unlock(&ends_lock);
    return recorded ? NULL : NO_EVENT;
}

static const char *every_edge(const struct gdx_site_api *api, unsigned at, uint64_t queue, at_side *what, bool own)
{
    const char *one = at & GDX_AT_FIRST ? what(api, own ? 0 : 1, queue) : NULL;
    const char *two = at & GDX_AT_SECOND ? what(api, own ? 1 : 0, queue) : NULL;
    return one ? one : two;
}

static unsigned without(unsigned at, unsigned bits, const char *why_not)
{
    if (!why_not)
        return at;
    (gdx_edge_everywhere() ? gdx_sites_noted : gdx_site_noted)(at & bits, why_not);
    return at & ~bits;
}

unsigned gdx_site_reached(const struct gdx_site_api *api, const char *name, uint64_t queue)
{
    int saved = errno;
    unsigned at = gdx_on() ? gdx_sites_here(name) : 0;
    if (at && api->captures())
        at = without(at, at, "a stream was being captured");
    if (at & GDX_AT_HELD)
        at = without(at, GDX_AT_HELD, add_hold(api, queue));
    if (at & EDGE && gdx_edge_everywhere())
        at = without(at, EDGE, every_edge(api, at, queue, wait_for_ends, false));
    else if (at & GDX_AT_SECOND)
        at = without(at, GDX_AT_SECOND, add_edge(api, queue));
    errno = saved;
    return at;
}

void gdx_site_left(const struct gdx_site_api *api, unsigned at, uint64_t queue, bool succeeded)
{
    int saved = errno;
    if (!succeeded)
        at = without(at, at, "the driver refused the call");
    if (at & EDGE && gdx_edge_everywhere())
        at = without(at, EDGE, every_edge(api, at, queue, remember_end, true));
    else if (at & GDX_AT_FIRST)
        at = without(at, GDX_AT_FIRST, keep_end(api, queue));
    if (at)
        (gdx_edge_everywhere() ? gdx_sites_noted : gdx_site_noted)(at, NULL);
    errno = saved;
}
