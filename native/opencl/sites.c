/* See sites.h. */
#define _GNU_SOURCE
#include "opencl/sites.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sandbox.h"
#include "opencl/own.h"

enum { THREAD_STACK = 256 * 1024, NAME_ROOM = 2048, TRIES_AT_END = 1000, EDGE = GDX_AT_FIRST | GDX_AT_SECOND };

/* ---- the event that holds a command ---- */

static struct { _Atomic(cl_event) event; _Atomic bool completing; pid_t pid; } gate;

/* By whoever comes first: the thread, or the end of the process. */
static void open_gate(void)
{
    atomic_store(&gate.completing, true);
    cl_event event = atomic_exchange(&gate.event, NULL);
    if (event) {
        gdx_cl_next.clSetUserEventStatus(event, CL_COMPLETE);
        gdx_cl_next.clReleaseEvent(event);
    }
    atomic_store(&gate.completing, false);
}

static void *open_later(void *nothing)
{
    pthread_setname_np(pthread_self(), "gpudx-hold");
    gdx_hold_sleep();
    open_gate();
    return nothing;
}

/* Before the driver's own end: what comes later would find nobody to open it. A forked child has neither thread nor driver. */
static void at_end(void)
{
    if (gate.pid != getpid())
        return;
    gdx_hold_ends();
    open_gate();
    for (unsigned tries = 1; atomic_load(&gate.completing) && tries < TRIES_AT_END; tries++)
        gdx_wait(tries);
}

/* It handles none of the program's signals. */
static bool start_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !gdx_is_shut_in() && pthread_create(&thread, &attributes, open_later, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static cl_context context_of(cl_command_queue queue)
{
    cl_context context = NULL;
    cl_int status = gdx_cl_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return status == CL_SUCCESS ? context : NULL;
}

/* The thread runs before the call is made: one that blocks waits for it. The call keeps a reference of its own. */
static cl_event shut_gate(cl_command_queue queue)
{
    cl_int status = CL_SUCCESS;
    cl_context context = context_of(queue);
    cl_event event = context ? gdx_cl_next.clCreateUserEvent(context, &status) : NULL;
    if (!event || status != CL_SUCCESS)
        return NULL;
    gdx_cl_next.clRetainEvent(event);
    gate.pid = getpid();
    atomic_store(&gate.event, event);
    atexit(at_end);
    if (start_thread())
        return event;
    open_gate();
    gdx_cl_next.clReleaseEvent(event);
    return NULL;
}

/* ---- the edge ---- */

static _Atomic(cl_event) first_ends;

/* At every call of the two names: the last commands of each of the two. Older ones are forgotten; in a queue that works in order
 * they have ended before these. */
enum { LAST = 16 };
static struct { cl_event events[LAST]; unsigned next; } ends[2];
static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember_end(int side, cl_event event)
{
    gdx_cl_next.clRetainEvent(event);
    pthread_mutex_lock(&ends_lock);
    cl_event *place = &ends[side].events[ends[side].next++ % LAST], oldest = *place;
    *place = event;
    pthread_mutex_unlock(&ends_lock);
    if (oldest)
        gdx_cl_next.clReleaseEvent(oldest);
}

/* Retained, for the caller to release. */
static cl_uint last_ends(int side, cl_event found[LAST])
{
    cl_uint count = 0;
    pthread_mutex_lock(&ends_lock);
    for (int i = 0; i < LAST; i++)
        if (ends[side].events[i]) {
            found[count] = ends[side].events[i];
            gdx_cl_next.clRetainEvent(found[count++]);
        }
    pthread_mutex_unlock(&ends_lock);
    return count;
}

static bool same_context(cl_event event, cl_command_queue queue)
{
    cl_context context = NULL;
    cl_int status = gdx_cl_next.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    return status == CL_SUCCESS && context && context == context_of(queue);
}

/* ---- calls ---- */

static const char *name_of(cl_kernel kernel, char room[NAME_ROOM])
{
    cl_int status = gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, NAME_ROOM, room, NULL);
    return status == CL_SUCCESS ? room : NULL;
}

static bool join(struct gdx_cl_site *site, cl_event event)
{
    struct gdx_lane *lane = gdx_lane();
    if (site->waits != site->list && site->num_waits
        && (!lane || !gdx_read(&lane->reader, site->list, site->waits, site->num_waits * sizeof *site->waits)))
        return false;
    site->list[site->num_waits++] = event;
    site->waits = site->list;
    return true;
}

static const char *add_hold(struct gdx_cl_site *site, cl_command_queue queue)
{
    site->gate = shut_gate(queue);
    return site->gate && join(site, site->gate) ? NULL : "there was no user event, or no thread to complete it";
}

static const char *add_edge(struct gdx_cl_site *site, cl_command_queue queue)
{
    cl_event event = atomic_load(&first_ends);
    if (!event)
        return "the first call had not been made by then";
    return same_context(event, queue) && join(site, event) ? NULL : "the two calls are in different contexts";
}

/* The events of another context cannot be waited for. */
static void add_ends(struct gdx_cl_site *site, cl_command_queue queue, int side)
{
    cl_event found[LAST];
    cl_uint count = last_ends(side, found);
    for (cl_uint i = 0; i < count; i++)
        if (same_context(found[i], queue) && join(site, found[i]))
            site->num_kept++;
        else
            gdx_cl_next.clReleaseEvent(found[i]);
}

static void add_every_edge(struct gdx_cl_site *site, cl_command_queue queue)
{
    if (site->at & GDX_AT_SECOND)
        add_ends(site, queue, 0);
    if (site->at & GDX_AT_FIRST)
        add_ends(site, queue, 1);
    if (!site->event)
        site->event = &site->own;
}

static void take(struct gdx_cl_site *site, unsigned bit, const char *why_not)
{
    if (!why_not)
        return;
    site->at &= ~bit;
    gdx_site_noted(bit, why_not);
}

/* What cannot be right is left to the driver to refuse. */
static bool can_add(const struct gdx_cl_site *site)
{
    return site->num_waits + 2 + 2 * LAST <= GDX_CL_WAITS && !site->num_waits == !site->waits;
}

void gdx_cl_site_reached(struct gdx_cl_site *site, cl_command_queue queue, const char *name, cl_kernel kernel)
{
    int saved = errno;
    char room[NAME_ROOM];
    if (!gdx_on())
        return;
    site->at = gdx_sites_here(kernel ? name_of(kernel, room) : name);
    if (site->at && !can_add(site)) {
        gdx_site_noted(site->at, "its wait list cannot be added to");
        site->at = 0;
    }
    if (site->at & GDX_AT_HELD)
        take(site, GDX_AT_HELD, add_hold(site, queue));
    if (site->at & EDGE && gdx_edge_everywhere())
        add_every_edge(site, queue);
    else if (site->at & GDX_AT_SECOND)
        take(site, GDX_AT_SECOND, add_edge(site, queue));
    if (site->at & GDX_AT_FIRST && !site->event)
        site->event = &site->own;
    errno = saved;
}

/* The program may let its own event go as soon as the call is over. The second call's queue may wait only for what the first
 * one's was told to begin (OpenCL 1.2 specification, 5.13). */
static void keep_end(struct gdx_cl_site *site, cl_command_queue queue)
{
    if (site->event != &site->own)
        gdx_cl_next.clRetainEvent(*site->event);
    atomic_store(&first_ends, *site->event);
    gdx_cl_next.clFlush(queue);
}

/* The same at every call of the two names. */
static void keep_every_end(struct gdx_cl_site *site, cl_command_queue queue)
{
    if (site->at & GDX_AT_FIRST)
        remember_end(0, *site->event);
    if (site->at & GDX_AT_SECOND)
        remember_end(1, *site->event);
    if (site->event == &site->own)
        gdx_cl_next.clReleaseEvent(site->own);
    gdx_cl_next.clFlush(queue);
}

static void leave_edge(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    bool everywhere = gdx_edge_everywhere();
    for (; site->num_kept; site->num_kept--)
        gdx_cl_next.clReleaseEvent(site->list[--site->num_waits]);
    if (accepted && everywhere)
        keep_every_end(site, queue);
    else if (accepted && site->at & GDX_AT_FIRST)
        keep_end(site, queue);
}

void gdx_cl_site_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    int saved = errno;
    if (site->at & EDGE)
        leave_edge(site, queue, accepted);
    if (site->at & GDX_AT_HELD)
        gdx_cl_next.clReleaseEvent(site->gate);
    (gdx_edge_everywhere() ? gdx_sites_noted : gdx_site_noted)(site->at, accepted ? NULL : "the driver refused the call");
    errno = saved;
}

/* ---- transfers that are complete when their call returns ---- */

void gdx_cl_transfer_reached(struct gdx_cl_site *site)
{
    if (!gdx_on() || !gdx_transfer_here())
        return;
    site->awaited = true;
    if (!site->event)
        site->event = &site->own;
}

void gdx_cl_transfer_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    int saved = errno;
    const char *why_not = accepted ? gdx_cl_await(queue, *site->event) : "the driver refused the call";
    gdx_sites_noted(GDX_AT_TRANSFER, why_not);
    if (accepted && site->event == &site->own && !(site->at & EDGE))  /* else whoever keeps the edge releases it */
        gdx_cl_next.clReleaseEvent(site->own);
    errno = saved;
}
