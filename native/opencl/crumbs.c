/* See crumbs.h. */
#define _GNU_SOURCE
#include "opencl/crumbs.h"

#include <errno.h>

#include "opencl/hooks.h"
#include "opencl/own.h"

enum { PLACES = 4096, ORDERED = 2 };  /* of `unordered`, while we know it: 0 not asked, 1 no order, 2 in order */

static _Atomic(struct gdx_crumb_field *) only;  /* one for all contexts */
static __thread cl_event at_hand __attribute__((tls_model("initial-exec")));

/* ---- commands that end ---- */

/* What a callback needs to know. A place is taken by its cell. */
static struct { _Atomic(uint32_t *) cell; uint32_t *mark; uint32_t number; bool unordered; } places[PLACES];

/* In a thread of the driver. Numbers only grow: the end of a later command of an ordered queue may be told first. */
static void reach(uint32_t *cell, uint32_t number)
{
    uint32_t now = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (now < number && !__atomic_compare_exchange_n(cell, &now, number, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}

static void ended(cl_event event, cl_int status, void *place)
{
    size_t at = (size_t)(uintptr_t)place;
    uint32_t *cell = atomic_load(&places[at].cell);
    (void)event;
    if (status == CL_COMPLETE && places[at].unordered) {
        __atomic_store_n(places[at].mark, 0, __ATOMIC_RELEASE);
        __atomic_add_fetch(cell, 1, __ATOMIC_ACQ_REL);
    } else if (status == CL_COMPLETE) {
        reach(cell, places[at].number);
    }
    atomic_store(&places[at].cell, NULL);
}

static size_t take_place(uint32_t *cell)
{
    static _Atomic size_t next;
    for (size_t tries = 0; tries < PLACES; tries++) {
        size_t at = atomic_fetch_add(&next, 1) % PLACES;
        uint32_t *free_ = NULL;
        if (atomic_compare_exchange_strong(&places[at].cell, &free_, cell))
            return at;
    }
    return PLACES;
}

static const char *attach(void *memory, size_t bytes, uint64_t *device)
{
    (void)bytes;
    *device = (uint64_t)(uintptr_t)memory;
    return NULL;
}

/* With too many commands open there is no crumb behind this one. */
static enum gdx_crumb_answer write_value(const struct gdx_crumb *row, uint64_t device, uint32_t value)
{
    struct gdx_crumb_field *field = atomic_load(&only);
    size_t at = take_place((uint32_t *)(uintptr_t)device);
    if (at == PLACES || !field)
        return GDX_CRUMB_BROKEN;
    places[at].number = value;
    places[at].unordered = __atomic_load_n(&row->unordered, __ATOMIC_RELAXED) == 1;
    places[at].mark = gdx_crumb_mark(field, row, value);
    if (gdx_cl_next.clSetEventCallback(at_hand, CL_COMPLETE, ended, (void *)(uintptr_t)at) == CL_SUCCESS)
        return GDX_CRUMB_TAKEN;
    atomic_store(&places[at].cell, NULL);
    return GDX_CRUMB_REFUSED;
}

static const struct gdx_crumb_api api = { attach, write_value, "the driver refused clSetEventCallback" };

/* ---- launches ---- */

GDX_COLD static struct gdx_crumb_field *open_field(uint32_t generation)
{
    static _Atomic uint32_t tried;
    if (atomic_exchange(&tried, generation) == generation)
        return NULL;
    if (!gdx_cl_next.clSetEventCallback || !gdx_cl_next.clEnqueueMarkerWithWaitList) {
        gdx_crumbs_none(0, "the driver has no clSetEventCallback");
        return NULL;
    }
    struct gdx_crumb_field *field = gdx_crumbs_open(&api, 0);
    atomic_store(&only, field);
    return field;
}

static struct gdx_crumb_field *field_of(const struct gdx_open *open)
{
    struct gdx_crumb_field *field = atomic_load_explicit(&only, memory_order_acquire);
    return GDX_LIKELY(field && field->generation == open->generation) ? field : open_field(open->generation);
}

static bool is_ordered(struct gdx_crumb *row)
{
    cl_command_queue_properties has = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    if (!__atomic_load_n(&row->unordered, __ATOMIC_RELAXED)) {
        gdx_cl_next.clGetCommandQueueInfo((cl_command_queue)(uintptr_t)row->queue, CL_QUEUE_PROPERTIES, sizeof has, &has, NULL);
        __atomic_store_n(&row->unordered, has & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? 1 : ORDERED, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&row->unordered, __ATOMIC_RELAXED) == ORDERED;
}

/* The queue is asked only if it is one that took a launch before: a bad handle must reach the driver in the program's own call. */
GDX_HOT void gdx_cl_crumb_wanted(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, cl_event **event)
{
    struct gdx_crumb_field *field = field_of(open);
    crumb->row = field ? gdx_crumb_due(field, open, (uint64_t)(uintptr_t)queue, false) : NULL;
    if (crumb->row && !*event)
        *event = &crumb->own;
}

/* No marker where the program may yet fail what it would wait for: PoCL 3.1 aborts when it fails a command whose event nobody holds
 * (pocl_update_event_failed). */
static bool has_own(struct gdx_cl_crumb *crumb, cl_command_queue queue)
{
    if (!is_ordered(crumb->row) || gdx_cl_user_event_is_open())
        return crumb->own != NULL;
    return crumb->own || gdx_cl_next.clEnqueueMarkerWithWaitList(queue, 0, NULL, &crumb->own) == CL_SUCCESS;
}

void gdx_cl_crumb_given(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, bool accepted)
{
    int saved = errno;
    struct gdx_crumb_field *field = atomic_load(&only);
    if (accepted && field && has_own(crumb, queue)) {
        at_hand = crumb->own;
        gdx_crumb_put(field, open, crumb->row);
        gdx_cl_next.clReleaseEvent(crumb->own);
    }
    errno = saved;
}

void gdx_cl_crumbs_queue_leaves(cl_command_queue queue)
{
    struct gdx_crumb_field *field = atomic_load(&only);
    if (field && gdx_on())
        gdx_crumbs_leave(field, (uint64_t)(uintptr_t)queue);
}
