/* See sites.h. */
#define _GNU_SOURCE
#include "opencl/sites.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl/hooks.h"

enum { THREAD_STACK = 256 * 1024, NAME_ROOM = 2048, TRIES_AT_END = 1000 };

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
    bool started = pthread_create(&thread, &attributes, open_later, NULL) == 0;
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
    return site->num_waits + 2 <= GDX_CL_WAITS && !site->num_waits == !site->waits;
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
    if (site->at & GDX_AT_SECOND)
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

void gdx_cl_site_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    int saved = errno;
    if (accepted && site->at & GDX_AT_FIRST)
        keep_end(site, queue);
    if (site->at & GDX_AT_HELD)
        gdx_cl_next.clReleaseEvent(site->gate);
    gdx_site_noted(site->at, accepted ? NULL : "the driver refused the call");
    errno = saved;
}
