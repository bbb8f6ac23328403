/* Work of our own on the program's devices: fills, and looks at canaries. It goes through queues of ours, one for each context,
 * is never waited for without end, and is not recorded. */
#pragma once

#include "opencl/hooks.h"

/* ---- own.c ---- */

/* A queue of ours, and how many references to its context the driver took for it: the program is told without them. */
struct gdx_cl_own_queue { cl_command_queue queue; cl_uint references; };
struct gdx_cl_own_queue gdx_cl_own_make(cl_context context, cl_device_id device);

/* Our queue in a context, until gdx_cl_own_drop; NULL: there is none. It lives as long as somebody holds it, so that the
 * context can go when the program lets it go. `several`: contexts with more than one device, too. */
cl_command_queue gdx_cl_own_hold(cl_context context, bool several);
void gdx_cl_own_drop(cl_context context);
cl_context gdx_cl_own_number(int number);  /* contexts in which we have one; NULL: none at this place */
enum { GDX_CL_OWN_CONTEXTS = 64, GDX_CL_PATIENCE_MS = 2000 };

/* Has this work of ours ended? Waits no longer than `ms`, and takes the event. False: it failed, or goes on; then nothing that
 * it uses may be touched, and the context gets no more of it where it goes on. */
bool gdx_cl_own_ended(cl_context context, cl_command_queue queue, cl_event event, unsigned ms);

/* ---- serialise.c ---- */

bool gdx_cl_in_callback(void);  /* does the thread run a callback of the program's? Nothing may be waited for there */

bool gdx_cl_user_event_is_open(void);    /* commands may wait for one that the program has not completed, or will fail */
const char *gdx_cl_awaits_not(void);  /* why no command would be waited for now, NULL: one would */
const char *gdx_cl_await(cl_command_queue queue, cl_event event);  /* waits for a command; NULL: it has ended, else why not */

/* ---- buffers.c: a buffer that the program wants ---- */

struct gdx_cl_request {
    cl_context context;
    const cl_mem_properties *properties;
    bool with_properties;
    cl_mem_flags flags;
    size_t size;
    void *host_ptr;
};
cl_mem gdx_cl_ask(const struct gdx_cl_request *r, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode);

/* ---- fence.c and red.c: NULL with the reason where they cannot; `never`: because of the device ---- */

cl_mem gdx_cl_fence_make(const struct gdx_cl_request *r, cl_int *errcode, const char **why, bool *never);
cl_mem gdx_cl_red_make(const struct gdx_cl_request *r, cl_int *errcode, const char **why);
void gdx_cl_fence_tell(cl_mem mem, cl_mem_info what, void *value);  /* corrects what the driver told */
void gdx_cl_red_tell(cl_mem mem, cl_mem_info what, void *value);
bool gdx_cl_red_zone(cl_mem mem, struct gdx_block *block);  /* has it one? */
void gdx_cl_fence_check(void);
void gdx_cl_red_check(cl_kernel launched);  /* NULL: the program has waited */

/* ---- poison.c ---- */

/* Fills a fresh buffer of which the program knows nothing yet. False, with the reason: it was not filled, and where that may
 * still come, `spoiled` says that the buffer cannot be used. */
bool gdx_cl_poison_buffer(cl_context context, cl_mem mem, size_t size, const char **why, bool *spoiled);

/* Is OpenCL here only what a HIP runtime is made of? Weak: the OpenCL hooks are also linked without the others, in tests. */
bool gdx_cl_is_beneath_hip(void);
