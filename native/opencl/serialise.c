/* Waits at launches for OpenCL (core/serialise.h): until the queue is empty; after a launch we also look at what was fenced.
 *
 * A wait must never keep the program from what the device waits for. So there is none in a callback, none while a user event of
 * the program's is open, and none without end: where work does not end in time, nothing is waited for any more, and that is
 * noted. Only when all is done clFinish is called, and recorded like any other. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/capture.h"
#include "core/clock.h"
#include "core/sources.h"
#include "core/transfers.h"
#include "opencl/own.h"

enum { CALLBACKS = 4096 };
static const uint64_t PATIENCE_NS = 20000000000ull;

/* ---- callbacks ---- */

static __thread int callbacks_open __attribute__((tls_model("initial-exec")));
static struct { _Atomic(cl_event_callback) notify; void *user_data; } registered[CALLBACKS];
static _Atomic bool unseen;  /* there are callbacks that we do not see */

bool gdx_cl_in_callback(void)
{
    return callbacks_open || atomic_load_explicit(&unseen, memory_order_relaxed);
}

/* The program's function, called in our sight. The place is free again: it is called once (OpenCL 1.2 specification, 5.9). */
static void called(cl_event event, cl_int state, void *place)
{
    size_t at = (size_t)(uintptr_t)place;
    void *user_data = registered[at].user_data;
    cl_event_callback notify = atomic_exchange(&registered[at].notify, NULL);
    if (!notify)
        return;
    struct gdx_open open;
    if (gdx_begin(&open, GDX_CALL_note_callback, NULL)) {  /* open for as long as the function runs: a hang shows who is in it */
        open.slot->w[0] = (uint64_t)(uintptr_t)event;
        open.slot->w[1] = (uint64_t)(uintptr_t)notify;
        open.slot->w[2] = state <= CL_COMPLETE;
        gdx_commit(&open);
    }
    callbacks_open++;
    notify(event, state, user_data);
    callbacks_open--;
    gdx_end_quiet(&open, 0);
}

static void reserved(cl_event event, cl_int state, void *nothing)
{
    (void)event, (void)state, (void)nothing;
}

/* A place for a callback, CALLBACKS: there is none. */
static size_t take_place(cl_event_callback notify, void *user_data)
{
    for (size_t at = 0; at < CALLBACKS; at++) {
        cl_event_callback none = NULL;
        if (!atomic_compare_exchange_strong(&registered[at].notify, &none, reserved))
            continue;
        registered[at].user_data = user_data;
        atomic_store(&registered[at].notify, notify);
        return at;
    }
    return CALLBACKS;
}

cl_int gdx_cl_serial_clSetEventCallback(cl_event event, cl_int command_type, cl_event_callback notify, void *user_data)
{
    size_t at = notify ? take_place(notify, user_data) : CALLBACKS;
    if (notify && at == CALLBACKS)
        atomic_store(&unseen, true);
    if (at == CALLBACKS)
        return gdx_cl_next.clSetEventCallback(event, command_type, notify, user_data);
    cl_int status = gdx_cl_next.clSetEventCallback(event, command_type, called, (void *)(uintptr_t)at);
    if (status != CL_SUCCESS)
        atomic_store(&registered[at].notify, NULL);
    return status;
}

/* ---- user events: work may wait for these, and they for the program ---- */

static _Atomic int user_events;

cl_event gdx_cl_serial_clCreateUserEvent(cl_context context, cl_int *errcode)
{
    cl_event made = gdx_cl_next.clCreateUserEvent(context, errcode);
    if (made)
        atomic_fetch_add_explicit(&user_events, 1, memory_order_relaxed);
    return made;
}

cl_int gdx_cl_serial_clSetUserEventStatus(cl_event event, cl_int execution_status)
{
    gdx_sources_renew();  /* copies that wait for this event have not begun: their sources may be filled until now */
    cl_int status = gdx_cl_next.clSetUserEventStatus(event, execution_status);
    if (status == CL_SUCCESS)
        atomic_fetch_sub_explicit(&user_events, 1, memory_order_relaxed);
    return status;
}

/* ---- the wait ---- */

enum reason { IN_CALLBACK, USER_EVENT, NO_MARKER, TOO_LONG, REASONS };

static const char *const texts[REASONS] = {
    [IN_CALLBACK] = "made in a callback",
    [USER_EVENT] = "a user event was open",
    [NO_MARKER] = "the driver took no marker",
    [TOO_LONG] = "it did not end in 20 s, and after that none was waited for",
};

/* Why a launch was not waited for; told at the first, the second, the fourth and so on. */
static void not_waited(enum reason reason)
{
    static _Atomic uint64_t counts[REASONS];
    uint64_t count = atomic_fetch_add(&counts[reason], 1) + 1;
    if (!(count & (count - 1)))
        gdx_note(GDX_CALL_note_not_serialised, &count, 1, (struct gdx_text){ texts[reason], strlen(texts[reason]) },
                 (struct gdx_text){ 0 }, NULL, 0);
}

static bool ends_in_time(cl_command_queue queue, cl_event event)
{
    cl_int state = CL_QUEUED;
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    gdx_cl_next.clFlush(queue);
    for (unsigned tries = 0; state > CL_COMPLETE && gdx_clock_ns(CLOCK_MONOTONIC) < until; tries++) {
        if (tries)
            gdx_wait(tries);
        if (gdx_cl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) != CL_SUCCESS)
            break;
    }
    return state <= CL_COMPLETE;
}

/* A marker ends when all that was put into the queue before has ended. */
static bool is_empty(cl_command_queue queue, enum reason *reason)
{
    cl_event event;
    *reason = NO_MARKER;
    if (!gdx_cl_next.clEnqueueMarkerWithWaitList
        || gdx_cl_next.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return false;
    *reason = TOO_LONG;
    bool ended = ends_in_time(queue, event);
    gdx_cl_next.clReleaseEvent(event);
    return ended;
}

static void finish(cl_command_queue queue)
{
    struct gdx_open open;
    if (gdx_begin(&open, GDX_CALL_clFinish, NULL)) {
        open.slot->w[0] = (uint64_t)(uintptr_t)queue;
        gdx_commit(&open);
    }
    gdx_end(&open, gdx_cl_next.clFinish(queue));
}

bool gdx_cl_user_event_is_open(void)
{
    return atomic_load_explicit(&user_events, memory_order_relaxed) > 0;
}

static enum reason why_not(void)
{
    return gdx_cl_in_callback() ? IN_CALLBACK : gdx_cl_user_event_is_open() ? USER_EVENT : REASONS;
}

static _Atomic bool awaits_no_more;

const char *gdx_cl_awaits_not(void)
{
    enum reason reason = atomic_load(&awaits_no_more) ? TOO_LONG : why_not();
    return reason == REASONS ? NULL : texts[reason];
}

const char *gdx_cl_await(cl_command_queue queue, cl_event event)
{
    const char *why = gdx_cl_awaits_not();
    if (why || ends_in_time(queue, event))
        return why;
    atomic_store(&awaits_no_more, true);
    return texts[TOO_LONG];
}

static bool waited(cl_command_queue queue, enum reason *reason)
{
    static _Atomic bool stopped;
    *reason = why_not();
    if (*reason != REASONS)
        return false;
    *reason = TOO_LONG;
    if (!atomic_load(&stopped) && is_empty(queue, reason))
        return true;
    atomic_store(&stopped, *reason == TOO_LONG);
    return false;
}

static const char *name_of(void *kernel, char room[GDX_WAITS_ROOM])
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, GDX_WAITS_ROOM, room, &bytes) != CL_SUCCESS || !bytes)
        return NULL;
    return room;
}

void gdx_cl_wait_before(cl_command_queue queue, cl_kernel kernel)
{
    enum reason reason;
    int saved = errno;
    if (!gdx_on() || !gdx_wait_here(GDX_WAITS_BEFORE, kernel, name_of))
        return;
    if (waited(queue, &reason))
        finish(queue);
    else
        not_waited(reason);
    errno = saved;
}

void gdx_cl_wait_for(cl_command_queue queue, cl_kernel kernel)
{
    enum reason reason;
    int saved = errno;
    if (!gdx_on() || !gdx_wait_here(GDX_WAITS_AFTER, kernel, name_of))
        return;
    if (waited(queue, &reason)) {
        finish(queue);
        gdx_cl_fence_check();
        gdx_cl_red_check(kernel);
    } else {
        not_waited(reason);
    }
    errno = saved;
}
