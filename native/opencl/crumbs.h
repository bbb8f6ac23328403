/* Crumbs (core/crumbs.h) for OpenCL: the end of a command's event is noted by a callback of ours, in a thread of the driver.
 *
 * A launch for which the program wants no event gets one of ours, which is released at once: drivers keep events until their
 * command is done. The program's own events are left alone, because it may ask for their reference count; behind such a launch
 * stands a marker, in queues that work in order. In queues that do not, and while a user event is open, it has no crumb. A command that
 * ends with an error is not done. */
#pragma once

#include "cl_abi.h"
#include "core/crumbs.h"

struct gdx_cl_crumb { struct gdx_crumb *row; cl_event own; };

void gdx_cl_crumb_wanted(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, cl_event **event);
void gdx_cl_crumb_given(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, bool accepted);
void gdx_cl_crumbs_queue_leaves(cl_command_queue queue);

/* Around the driver's call; `event` is what the driver is given. */
static inline void gdx_cl_crumb_begins(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, cl_event **event)
{
    crumb->row = NULL;
    crumb->own = NULL;
    if (GDX_LIKELY(open->slot) && gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_cl_crumb_wanted(crumb, open, queue, event);
}

static inline void gdx_cl_crumb_ends(struct gdx_cl_crumb *crumb, struct gdx_open *open, cl_command_queue queue, bool accepted)
{
    if (GDX_UNLIKELY(crumb->row))
        gdx_cl_crumb_given(crumb, open, queue, accepted);
}

static inline void gdx_cl_crumbs_leaving(cl_command_queue queue)
{
    if (gdx_crumbs() != GDX_CRUMBS_OFF)
        gdx_cl_crumbs_queue_leaves(queue);
}
