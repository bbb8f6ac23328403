/* OpenCL in neutral events. Most wrappers are made from schema/opencl.toml; hooks.c has those that do more than write
 * their parameters down. All of them call the driver through gdx_cl_next. */
#pragma once

#include "cl_abi.h"
#include "core/fence.h"
#include "core/poison.h"
#include "core/recorder.h"
#include "core/serialise.h"
#include "core/watch.h"

extern struct cl_dispatch gdx_cl_next;              /* where calls go on to: the loader's target, or the real symbols */
extern const struct cl_dispatch gdx_cl_recording;   /* our table, made by tools/opencl_wrappers.py */

/* The entry points as exported symbols, for loaders without layers (native/opencl/symbols.c). */
struct gdx_cl_name { const char *name; size_t offset; };
extern const struct gdx_cl_name gdx_cl_names[];
const struct cl_dispatch *gdx_cl_entry(void *caller);

/* describe.c: what the driver can tell about devices and kernels, noted once. */
void gdx_cl_describe_devices(cl_context context);
void gdx_cl_describe_kernel(cl_program program, cl_kernel kernel);
bool gdx_cl_has_arg_info(cl_program program);  /* can all its devices describe kernel arguments? */
void gdx_cl_forget_program(cl_program program);
void gdx_cl_note_build(cl_program program, cl_uint count, const cl_device_id *devices, cl_int status);

/* buffers.c: memory that is made by us (fence.c, red.c, poison.c). The entries that go through these are in the schema. */
void gdx_cl_look(void);
bool gdx_cl_has_properties(const cl_mem_properties *properties);  /* more than the end of the list; or it cannot be read */
void gdx_cl_fence_miss(const void *object, size_t size, const char *why);
void gdx_cl_poison_miss(const void *object, size_t size, const char *why);
static inline void gdx_cl_not_fenced(const void *object, size_t size, const char *why)
{
    if (GDX_UNLIKELY(gdx_fence_edge()) && object)
        gdx_cl_fence_miss(object, size, why);
}
static inline void gdx_cl_not_poisoned(const void *object, size_t size, const char *why)
{
    if (GDX_UNLIKELY(gdx_poisons()) && object)
        gdx_cl_poison_miss(object, size, why);
}

/* serialise.c: a wait of our own before a launch, or after one that the driver accepted. */
void gdx_cl_wait_for(cl_command_queue queue, cl_kernel kernel);
void gdx_cl_wait_before(cl_command_queue queue, cl_kernel kernel);
static inline void gdx_cl_launching(cl_command_queue queue, cl_kernel kernel)
{
    if (GDX_UNLIKELY(gdx_serialised()))
        gdx_cl_wait_before(queue, kernel);
}
static inline void gdx_cl_launched(cl_command_queue queue, cl_kernel kernel, cl_int status)
{
    if (GDX_UNLIKELY(gdx_serialised()) && status == CL_SUCCESS)
        gdx_cl_wait_for(queue, kernel);
}

/* watch.c: buffers that must not change. Calls that submit commands say so before their end is recorded. */
void gdx_cl_watch_submit(cl_command_queue queue);
void gdx_cl_watch_queue_leaves(cl_command_queue queue);
void gdx_cl_watch_make(cl_mem mem, cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes);
void gdx_cl_watch_release(cl_mem mem);
void gdx_cl_watch_correct(cl_mem mem, cl_uint *references);
void gdx_cl_watch_look(bool patient);
static inline void gdx_cl_watch_submitted(cl_command_queue queue, bool accepted)
{
    if (GDX_UNLIKELY(gdx_watching()) && accepted)
        gdx_cl_watch_submit(queue);
}
static inline void gdx_cl_watch_leaving(cl_command_queue queue)
{
    if (GDX_UNLIKELY(gdx_watching()))
        gdx_cl_watch_queue_leaves(queue);
}
static inline void gdx_cl_watch_made(cl_mem mem, cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                     size_t bytes)
{
    if (GDX_UNLIKELY(gdx_watching()) && mem && gdx_on())
        gdx_cl_watch_make(mem, context, properties, flags, bytes);
}
static inline void gdx_cl_watch_cannot(const void *object, size_t size, const char *why)
{
    if (GDX_UNLIKELY(gdx_watching()) && object)
        gdx_watch_miss((uint64_t)(uintptr_t)object, size, why);
}
static inline void gdx_cl_watch_released(cl_mem mem)
{
    if (GDX_UNLIKELY(gdx_watching()))
        gdx_cl_watch_release(mem);
}
static inline void gdx_cl_watch_asked(cl_mem mem, cl_mem_info what, cl_int result, void *value)
{
    if (GDX_UNLIKELY(gdx_watching()) && what == CL_MEM_REFERENCE_COUNT && result == CL_SUCCESS)
        gdx_cl_watch_correct(mem, value);
}
/* The program is told its own references to a context, without those of our queues. */
cl_uint gdx_cl_watch_references(cl_context context);
void gdx_cl_context_correct(cl_context context, cl_uint *count);
static inline void gdx_cl_context_asked(cl_context context, cl_context_info what, cl_int result, void *value)
{
    if (what == CL_CONTEXT_REFERENCE_COUNT && result == CL_SUCCESS && value && gdx_on())
        gdx_cl_context_correct(context, value);
}
/* Before and after a launch, where the launch that changes something is to be named. */
static inline void gdx_cl_watch_launch(bool after)
{
    if (GDX_UNLIKELY(gdx_watching() == GDX_WATCH_LAUNCHES))
        gdx_cl_watch_look(after);
}

/* checks.h: kernels that check themselves. */
extern _Atomic int gdx_checks_setting;
void gdx_cl_check_collect(bool patient);

/* What fences, poison and watching are told alike. */
static inline void gdx_cl_waited(void)
{
    if (GDX_UNLIKELY(gdx_checks_setting > 0))
        gdx_cl_check_collect(false);
    if (GDX_UNLIKELY(gdx_fence_edge()))
        gdx_cl_look();
    if (GDX_UNLIKELY(gdx_watching()))
        gdx_cl_watch_look(false);
}

/* arguments.c: the arguments each kernel object holds now, so that a launch can be written down with all of them. */
void gdx_cl_kernel_born(cl_kernel kernel);
void gdx_cl_kernel_copied(cl_kernel from, cl_kernel to);
void gdx_cl_kernel_retained(cl_kernel kernel);
void gdx_cl_kernel_released(cl_kernel kernel);
/* A value that was just set; over 8 bytes it is in the record. */
struct gdx_cl_fresh { struct gdx_argument is; const char *value; };
void gdx_cl_argument_read(struct gdx_open *open, struct gdx_cl_fresh *fresh, cl_uint index, size_t size, const void *value);
void gdx_cl_argument_keep(const struct gdx_open *open, cl_kernel kernel, cl_uint index, const struct gdx_cl_fresh *fresh);
void gdx_cl_put_arguments(struct gdx_open *open, cl_kernel kernel);
bool gdx_cl_argument_at(cl_kernel kernel, cl_uint index, struct gdx_argument *out);  /* false: it was never set */
bool gdx_cl_argument_bytes(cl_kernel kernel, cl_uint index, void *room);  /* of a value over 8 bytes; false: it was not kept */
/* The values of 8 bytes that a kernel object holds: handles of memory are among them. */
enum { GDX_CL_ARGUMENTS = 256 };  /* of a kernel that are kept */
bool gdx_cl_arguments_known(cl_kernel kernel);
uint32_t gdx_cl_argument_words(cl_kernel kernel, uint64_t *values, uint32_t room);
