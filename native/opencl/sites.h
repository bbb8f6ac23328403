/* Experiments at named calls (core/sites.h) for OpenCL.
 *
 * A command is held by a user event that joins its own wait list, so nothing else in its queue is held but what has to come after
 * it anyway; a thread of ours completes the event. An edge is the first command's event in the second's wait list. The record has
 * the call as the program made it. */
#pragma once

#include "cl_abi.h"
#include "core/sites.h"

enum { GDX_CL_WAITS = 64 };  /* of a wait list that can be added to */

/* What the driver is given in place of the last three parameters of a call that puts a command into a queue. */
struct gdx_cl_site {
    unsigned at;
    cl_uint num_waits;
    const cl_event *waits;
    cl_event *event, own, gate;
    cl_event list[GDX_CL_WAITS];
};

void gdx_cl_site_reached(struct gdx_cl_site *site, cl_command_queue queue, const char *name, cl_kernel kernel);
void gdx_cl_site_left(struct gdx_cl_site *site, cl_command_queue queue, bool accepted);

/* `name` of the call; a launch has the name of its kernel instead. */
static inline void gdx_cl_site_begins(struct gdx_cl_site *site, cl_command_queue queue, const char *name, cl_kernel kernel,
                                      cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    site->at = 0;
    site->num_waits = num_waits;
    site->waits = waits;
    site->event = event;
    if (GDX_UNLIKELY(gdx_sites()))
        gdx_cl_site_reached(site, queue, name, kernel);
}

static inline void gdx_cl_site_ends(struct gdx_cl_site *site, cl_command_queue queue, bool accepted)
{
    if (GDX_UNLIKELY(site->at))
        gdx_cl_site_left(site, queue, accepted);
}
