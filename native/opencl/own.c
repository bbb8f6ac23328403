/* See own.h. */
#define _GNU_SOURCE
#include "opencl/own.h"

#include <stdatomic.h>

#include "core/clock.h"

struct own { cl_context context; struct gdx_cl_own_queue made; uint32_t holders; bool stuck; };
static struct own own[GDX_CL_OWN_CONTEXTS];

/* The place of a context, -1: none. With the lock held. */
static int place_of(cl_context context)
{
    for (int i = 0; i < GDX_CL_OWN_CONTEXTS; i++)
        if (own[i].context == context)
            return i;
    return -1;
}

/* One holder more of the queue that is known, or of `fresh`. */
static cl_command_queue hold(cl_context context, struct gdx_cl_own_queue fresh, bool *stuck)
{
    struct gdx_calm calm;
    cl_command_queue found = NULL;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    int known = place_of(context), at = known < 0 && fresh.queue ? place_of(NULL) : known;
    if (known < 0 && at >= 0) {
        own[at].context = context;
        own[at].made = fresh;
        own[at].stuck = false;
    }
    if (at >= 0 && !(*stuck = own[at].stuck)) {
        own[at].holders++;
        found = own[at].made.queue;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

/* ---- references ---- */

static cl_uint references(cl_context context)
{
    cl_uint count = 0;
    cl_int status = gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    return status == CL_SUCCESS ? count : 0;
}

/* Drivers differ in how many references a queue takes. Another thread that takes one at this moment can spoil the number, so one that
 * cannot be right counts as none. */
struct gdx_cl_own_queue gdx_cl_own_make(cl_context context, cl_device_id device)
{
    enum { MOST = 4 };
    cl_int status;
    cl_uint before = references(context);
    struct gdx_cl_own_queue made = { gdx_cl_next.clCreateCommandQueue(context, device, 0, &status), 0 };
    cl_uint added = made.queue ? references(context) - before : 0;
    made.references = added <= MOST ? added : 0;
    return made;
}

void gdx_cl_context_correct(cl_context context, cl_uint *count)
{
    struct gdx_calm calm;
    cl_uint added = gdx_cl_watch_references(context);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    int at = place_of(context);
    added += at >= 0 ? own[at].made.references : 0;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    *count -= added < *count ? added : 0;
}

/* With several devices, work of ours on one could move a buffer that another is working on. */
static struct gdx_cl_own_queue make_queue(cl_context context, bool several)
{
    cl_device_id devices[GDX_CL_OWN_CONTEXTS];
    size_t bytes = 0;
    if (gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS || !bytes
        || (!several && bytes > sizeof *devices))
        return (struct gdx_cl_own_queue){ 0 };
    return gdx_cl_own_make(context, devices[0]);
}

cl_command_queue gdx_cl_own_hold(cl_context context, bool several)
{
    bool stuck = false;
    if (!gdx_on() || !context)
        return NULL;
    struct gdx_cl_own_queue fresh = { 0 };
    cl_command_queue found = hold(context, fresh, &stuck);
    if (!found && !stuck)
        fresh = make_queue(context, several);
    if (!fresh.queue)
        return found;
    found = hold(context, fresh, &stuck);
    if (found != fresh.queue)
        gdx_cl_next.clReleaseCommandQueue(fresh.queue);  /* another thread was faster, or there are too many contexts */
    return found;
}

/* A queue that is stuck stays, and so does what it uses. */
void gdx_cl_own_drop(cl_context context)
{
    struct gdx_calm calm;
    cl_command_queue last = NULL;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    int at = place_of(context);
    if (at >= 0 && !--own[at].holders && !own[at].stuck) {
        last = own[at].made.queue;
        own[at].context = NULL;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (last)
        gdx_cl_next.clReleaseCommandQueue(last);
}

cl_context gdx_cl_own_number(int number)
{
    return __atomic_load_n(&own[number].context, __ATOMIC_RELAXED);
}

static void give_up(cl_context context)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    int at = place_of(context);
    if (at >= 0)
        own[at].stuck = true;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

/* Asked again and again instead of clFinish: the device may be waiting for what the program does next. */
bool gdx_cl_own_ended(cl_context context, cl_command_queue queue, cl_event event, unsigned ms)
{
    cl_int state = CL_QUEUED, status = gdx_cl_next.clFlush(queue);
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + ms * 1000000ull;
    for (unsigned tries = 0; status == CL_SUCCESS && state > CL_COMPLETE; tries++) {
        status = gdx_cl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
        if (status != CL_SUCCESS || state <= CL_COMPLETE)
            break;
        if (gdx_clock_ns(CLOCK_MONOTONIC) > until) {
            give_up(context);
            break;
        }
        gdx_wait(tries);
    }
    gdx_cl_next.clReleaseEvent(event);
    return status == CL_SUCCESS && state == CL_COMPLETE;
}
