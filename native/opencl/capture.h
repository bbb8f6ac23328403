/* A launch that is written down whole (core/capture.h): its code, geometry and arguments, and what is in the memory that it can reach,
 * before and after it. Memory is read through the launch's own queue, when all that the launch waits for is done. */
#pragma once

#include "core/capture.h"
#include "opencl/checks.h"
#include "opencl/nan.h"

struct gdx_cl_capture {
    struct gdx_capture file;  /* fd -1: this launch is not the one */
    struct gdx_cl_reach *reach;
    bool scans, hashes;
    struct gdx_cl_nan nan;    /* if it scans */
};

void gdx_cl_capture_memory(cl_mem mem);
void gdx_cl_capture_let_go(cl_mem mem);
void gdx_cl_capture_value(cl_kernel kernel, cl_uint index, size_t size, const void *value);
void gdx_cl_capture_before(struct gdx_cl_capture *c, const struct gdx_cl_launch *l);
void gdx_cl_capture_after(struct gdx_cl_capture *c, const struct gdx_cl_launch *l, cl_int status);

static inline void gdx_cl_capture_made(cl_mem mem)
{
    if (GDX_UNLIKELY(gdx_capturing()) && mem)
        gdx_cl_capture_memory(mem);
}
static inline void gdx_cl_capture_released(cl_mem mem)
{
    if (GDX_UNLIKELY(gdx_capturing()) && mem)
        gdx_cl_capture_let_go(mem);
}
/* A launch is described from its kernel's program. Intel's driver does not answer for one that the program has released, so it is kept. */
static inline void gdx_cl_capture_kernel(cl_program program, cl_kernel kernel)
{
    if (GDX_UNLIKELY(gdx_capturing()) && kernel)
        gdx_cl_next.clRetainProgram(program);
}
static inline void gdx_cl_capture_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, cl_int result)
{
    if (GDX_UNLIKELY(gdx_capturing()) && result == CL_SUCCESS && value && size > sizeof(uint64_t))
        gdx_cl_capture_value(kernel, index, size, value);
}
static inline void gdx_cl_capture_begins(struct gdx_cl_capture *c, const struct gdx_cl_launch *l)
{
    c->file.fd = -1;
    c->scans = c->hashes = false;
    if (GDX_UNLIKELY(gdx_capturing()))
        gdx_cl_capture_before(c, l);
}
static inline void gdx_cl_capture_ends(struct gdx_cl_capture *c, const struct gdx_cl_launch *l, cl_int status)
{
    if (GDX_UNLIKELY(c->file.fd >= 0 || c->scans || c->hashes))
        gdx_cl_capture_after(c, l, status);
}

/* ---- what capture.c and nan.c share ---- */

struct gdx_cl_place { cl_mem mem; const char *svm; uint64_t bytes; };  /* a buffer, or SVM from its first byte on */
bool gdx_cl_capture_may_look(void);  /* is there time for another launch? */
void gdx_cl_capture_looked(uint64_t since);  /* a look ends that began then (ns of CLOCK_MONOTONIC) */
bool gdx_cl_capture_content(cl_command_queue queue, const struct gdx_cl_place *from, uint64_t offset, size_t bytes, void *room);
const char *gdx_cl_capture_wait(const struct gdx_cl_launch *l, bool before, cl_int *status);  /* NULL: all is done */
bool gdx_cl_capture_knows(cl_mem mem);
bool gdx_cl_capture_place(const struct gdx_argument *a, struct gdx_cl_place *place);  /* false: no memory, or none that can be read */
