/* Watching buffers (core/watch.h): when all commands are done, and how content is read.
 *
 * A queue is idle when a marker that we put behind everything in it is done. A marker holds up nothing that comes later
 * (OpenCL 1.2 specification, 5.11), and it is waited for only a moment: the queue may wait for something that the program
 * has yet to do. As long as any queue works, there is no look.
 *
 * We hold a reference to each watched buffer, so that it cannot go while it is read; ours is the last one when the program
 * has let go of it. Content is read through a queue of our own for each context. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>

#include "core/watch.h"
#include "opencl/hooks.h"
#include "opencl/own.h"

enum { QUEUES = 256, CONTEXTS = 64, MOMENT = 120 /* tries, 1 ms */, PATIENCE = 16000 /* about two seconds */ };

/* ---- the program's queues ---- */

struct busy {
    cl_command_queue queue;  /* NULL where the program has released it: only its marker is left */
    uint64_t given, done;    /* commands */
    cl_event marker;         /* the one that was put in when `marked` commands had been given */
    uint64_t marked;
};
static struct busy queues[QUEUES];  /* with the lock held */
static bool hasty;                  /* a queue waits for the program: patience does not help */

static struct busy *place_of(cl_command_queue queue)
{
    struct busy *room = NULL;
    for (int i = 0; i < QUEUES; i++) {
        if (queues[i].queue == queue)
            return &queues[i];
        if (!room && !queues[i].queue && !queues[i].marker)
            room = &queues[i];
    }
    if (room)
        *room = (struct busy){ .queue = queue };
    return room;
}

void gdx_cl_watch_submit(cl_command_queue queue)
{
    struct gdx_calm calm;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct busy *place = place_of(queue);
    if (place)
        place->given++;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!place)
        gdx_watch_stop("the program has more queues than are followed");
}

static cl_event put_marker(cl_command_queue queue)
{
    cl_event marker = NULL;
    cl_int status;
    if (gdx_cl_next.clEnqueueMarkerWithWaitList)
        status = gdx_cl_next.clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker);
    else
        status = gdx_cl_next.clEnqueueMarker(queue, &marker);
    if (status == CL_SUCCESS)
        status = gdx_cl_next.clFlush(queue);
    if (status != CL_SUCCESS)
        gdx_watch_stop("a queue refused a marker");
    return status == CL_SUCCESS ? marker : NULL;
}

/* A queue that still works gets its marker now: later we may not touch it. */
void gdx_cl_watch_queue_leaves(cl_command_queue queue)
{
    struct gdx_calm calm;
    bool works = false;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < QUEUES; i++)
        works |= queue && queues[i].queue == queue && queues[i].given != queues[i].done;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    cl_event last = works ? put_marker(queue) : NULL, before = NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < QUEUES; i++)
        if (queue && queues[i].queue == queue) {
            before = queues[i].marker;
            queues[i] = (struct busy){ .given = 1, .marker = last, .marked = 1 };
        }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (before)
        gdx_cl_next.clReleaseEvent(before);
}

/* The marker of place `i`, put into the queue if there is none yet; the caller has a reference to it. NULL: it is idle. */
static cl_event marker_of(int i)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct busy was = queues[i];
    bool works = was.marker || (was.queue && was.given != was.done);
    if (was.marker)
        gdx_cl_next.clRetainEvent(was.marker);
    else if (works)
        gdx_cl_next.clRetainCommandQueue(was.queue);  /* it is in the table, so the program has not released it yet */
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!works || was.marker)
        return was.marker;
    cl_event fresh = put_marker(was.queue);
    gdx_cl_next.clReleaseCommandQueue(was.queue);
    if (!fresh)
        return NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    bool kept = queues[i].queue == was.queue && !queues[i].marker;
    if (kept) {
        queues[i].marker = fresh;
        queues[i].marked = was.given;
        gdx_cl_next.clRetainEvent(fresh);
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return fresh;
}

static bool is_done(cl_event marker)
{
    cl_int status = CL_QUEUED;
    cl_int asked = gdx_cl_next.clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return asked == CL_SUCCESS && status <= CL_COMPLETE;
}

static bool wait_for(cl_event marker, unsigned patience)
{
    for (unsigned tries = 0; tries < patience; tries++) {
        if (is_done(marker))
            return true;
        gdx_wait(tries);
    }
    return false;
}

/* Its marker is done: all up to it is. */
static void forget_marker(int i, cl_event marker)
{
    struct gdx_calm calm;
    bool ours = false;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    if ((ours = queues[i].marker == marker)) {
        queues[i].marker = NULL;
        queues[i].done = queues[i].marked;
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (ours)
        gdx_cl_next.clReleaseEvent(marker);
}

/* A marker from an earlier look may be done while commands behind it are not: then there is a second one. */
static bool is_idle(int i, bool patient)
{
    for (int round = 0; round < 2; round++) {
        cl_event marker = marker_of(i);
        if (!marker)
            return true;
        bool done = wait_for(marker, patient && !hasty ? PATIENCE : MOMENT);
        if (done)
            forget_marker(i, marker);
        else if (patient)
            hasty = true;
        gdx_cl_next.clReleaseEvent(marker);
        if (!done)
            return false;
    }
    return true;
}

static bool all_idle(bool patient)
{
    for (int i = 0; i < QUEUES; i++)
        if (!is_idle(i, patient))
            return false;
    return gdx_watching();
}

/* ---- our own queues ---- */

static struct own { cl_context context; struct gdx_cl_own_queue made; uint32_t buffers; } own[CONTEXTS];  /* with the lock held */

static struct own *own_of(cl_context context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (own[i].context == context)
            return &own[i];
    return NULL;
}

static cl_command_queue borrow_queue(cl_context context, struct gdx_cl_own_queue fresh)
{
    struct gdx_calm calm;
    cl_command_queue found = NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct own *place = own_of(context);
    if (!place && fresh.queue && (place = own_of(NULL)))
        *place = (struct own){ context, fresh, 0 };
    if (place) {
        place->buffers++;
        found = place->made.queue;
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return found;
}

static cl_command_queue queue_for(cl_context context, cl_device_id device)
{
    struct gdx_cl_own_queue fresh = { 0 };
    cl_command_queue found = borrow_queue(context, fresh);
    if (!found)
        fresh = gdx_cl_own_make(context, device);
    if (fresh.queue) {
        found = borrow_queue(context, fresh);
        if (found != fresh.queue)
            gdx_cl_next.clReleaseCommandQueue(fresh.queue);  /* another thread was faster, or there are too many contexts */
    }
    return found;
}

/* The last buffer of a context takes the queue with it: it would keep the context from ending. */
static void return_queue(cl_context context)
{
    struct gdx_calm calm;
    cl_command_queue last = NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct own *place = own_of(context);
    if (place && !--place->buffers) {
        last = place->made.queue;
        *place = (struct own){ 0 };
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (last)
        gdx_cl_next.clReleaseCommandQueue(last);
}

cl_uint gdx_cl_watch_references(cl_context context)
{
    struct gdx_calm calm;
    if (!gdx_watching() || !gdx_on())
        return 0;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct own *place = own_of(context);
    cl_uint count = place ? place->made.references : 0;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return count;
}

/* ---- content ---- */

static cl_mem memory(const struct gdx_watched *one)
{
    return (cl_mem)(uintptr_t)one->handle;
}

static const unsigned char *read_memory(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    cl_command_queue queue = (cl_command_queue)(uintptr_t)one->device;
    cl_int status = gdx_cl_next.clEnqueueReadBuffer(queue, memory(one), CL_TRUE, offset, bytes, room, 0, NULL, NULL);
    return status == CL_SUCCESS ? room : NULL;
}

static bool is_gone(const struct gdx_watched *one)
{
    cl_uint references = 0;
    cl_int status = gdx_cl_next.clGetMemObjectInfo(memory(one), CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
    return status == CL_SUCCESS && references == 1;
}

static void let_go(const struct gdx_watched *one)
{
    gdx_cl_next.clReleaseMemObject(memory(one));
    return_queue((cl_context)(uintptr_t)one->owner);
}

static const struct gdx_watch_ways ways = { all_idle, read_memory, false, is_gone, let_go };

/* ---- what is watched ---- */

/* The only device of a context: reading through one of several could move the buffer to it. */
static cl_device_id only_device(cl_context context)
{
    cl_device_id devices[2];
    size_t bytes = 0;
    if (gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes) != CL_SUCCESS || bytes != sizeof *devices
        || gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof *devices, devices, NULL) != CL_SUCCESS)
        return NULL;
    return *devices;
}

static const char *unfit(cl_mem_flags flags, const cl_mem_properties *properties)
{
    if (flags & CL_MEM_USE_HOST_PTR)
        return "memory of the program's own (CL_MEM_USE_HOST_PTR), which it can write at any time";
    if (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY))
        return "a buffer that the host may not read";
    return gdx_cl_has_properties(properties) ? "a buffer with properties" : NULL;
}

static const char *watch(cl_mem mem, cl_context context, size_t bytes)
{
    cl_device_id device = only_device(context);
    cl_command_queue queue = device ? queue_for(context, device) : NULL;
    if (!queue)
        return device ? "no queue to read it with" : "a context with several devices";
    gdx_cl_next.clRetainMemObject(mem);
    struct gdx_watched one = { .handle = (uint64_t)(uintptr_t)mem, .bytes = bytes, .owner = (uint64_t)(uintptr_t)context,
                               .device = (uint64_t)(uintptr_t)queue };
    return gdx_watch_add(&ways, &one, true);
}

void gdx_cl_watch_make(cl_mem mem, cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes)
{
    int saved = errno;
    const char *why = unfit(flags, properties);
    why = why ? why : watch(mem, context, bytes);
    if (why)
        gdx_watch_miss((uint64_t)(uintptr_t)mem, bytes, why);
    errno = saved;
}

void gdx_cl_watch_release(cl_mem mem)
{
    int saved = errno;
    gdx_watch_drop_if_gone(&ways, (uint64_t)(uintptr_t)mem);
    errno = saved;
}

/* The program is told its own references only. */
void gdx_cl_watch_correct(cl_mem mem, cl_uint *references)
{
    if (references && gdx_watch_has((uint64_t)(uintptr_t)mem))
        --*references;
}

void gdx_cl_watch_look(bool patient)
{
    gdx_watch_look(&ways, patient);
}
