/* Experiments at named calls (core/sites.h) for OpenCL.
 *
 * A command is held by a user event that joins its own wait list, so nothing else in its queue is held but what has to come after
 * it anyway; a thread of ours completes the event. An edge is the first command's event in the second's wait list. A transfer that
 * is to be complete when its call returns (core/transfers.h) is waited for by its own event. The record has the call as the program
 * made it. */
#pragma once

#include "cl_abi.h"
#include "core/sites.h"
#include "core/transfers.h"

enum { GDX_CL_WAITS = 64 };  /* of a wait list that can be added to */

/* What the driver is given in place of the last three parameters of a call that puts a command into a queue. */
struct gdx_cl_site {
    unsigned at;
    cl_uint num_waits;
    const cl_event *waits;
    cl_event *event, own, gate;
    bool awaited;       /* the transfer is waited for */
    cl_uint num_kept;   /* events at the end of the list that are ours to release */
    cl_event list[GDX_CL_WAITS];
};

void gdx_cl_site_reached(struct gdx_cl_site *site, cl_command_queue queue, const char *name, cl_kernel kernel);
void gdx_cl_site_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted);

/* `name` of the call; a launch has the name of its kernel instead. */
static inline void gdx_cl_site_begins(struct gdx_cl_site *site, cl_command_queue queue, const char *name, cl_kernel kernel,
                                      cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    site->at = 0;
    site->awaited = false;
    site->num_kept = 0;
    site->num_waits = num_waits;
    site->waits = waits;
    site->event = event;
    if (GDX_UNLIKELY(gdx_sites()))
        gdx_cl_site_reached(site, queue, name, kernel);
}

void gdx_cl_transfer_reached(struct gdx_cl_site *site);
void gdx_cl_transfer_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted);

/* Between gdx_cl_site_begins and the call, and before gdx_cl_site_ends: a call that transfers to or from host memory. */
static inline void gdx_cl_transfer_begins(struct gdx_cl_site *site, cl_bool blocking)
{
    if (GDX_UNLIKELY(gdx_blocking_transfers()) && !blocking)
        gdx_cl_transfer_reached(site);
}

static inline void gdx_cl_transfer_ends(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    if (GDX_UNLIKELY(site->awaited))
        gdx_cl_transfer_left(site, queue, accepted);
}

static inline void gdx_cl_site_ends(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    if (GDX_UNLIKELY(site->at))
        gdx_cl_site_left(site, queue, accepted);
}
