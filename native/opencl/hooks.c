/* Wrappers that do more than write their parameters down. Their prototypes and recorded fields come from
 * schema/opencl.toml like all others; word numbers are those of Call.fields in tools/schema_model.py. */
#define _GNU_SOURCE
#include "opencl/hooks.h"
#include "opencl/host_args.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/perturb.h"
#include "core/stacks.h"
#include "opencl/capture.h"
#include "opencl/crumbs.h"
#include "opencl/edited.h"
#include "opencl/redirect.h"
#include "opencl/sites.h"
#include "opencl/turns.h"
#include "opencl/what_if.h"

struct cl_dispatch gdx_cl_next GDX_HOT_DATA;

#define WORD(x) ((uint64_t)(uintptr_t)(x))
#define BEGIN(name) gdx_begin(&open, GDX_CALL_##name, __builtin_return_address(0))

cl_context rec_clCreateContext(const cl_context_properties *properties, cl_uint num_devices, const cl_device_id *devices,
                               cl_context_callback notify, void *user_data, cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCreateContext)) {
        open.slot->w[0] = num_devices;
        open.slot->w[1] = WORD(notify);
        gdx_show(&open);
        gdx_put_properties(&open, 0, properties);
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        gdx_commit(&open);
    }
    cl_context result = gdx_cl_next.clCreateContext(properties, num_devices, devices, notify, user_data, errcode);
    if (gdx_still_open(&open))
        open.slot->w[2] = WORD(result);
    gdx_end(&open, *errcode);
    gdx_cl_describe_devices(result);
    return result;
}

cl_context rec_clCreateContextFromType(const cl_context_properties *properties, cl_device_type device_type,
                                       cl_context_callback notify, void *user_data, cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCreateContextFromType)) {
        open.slot->w[0] = device_type;
        open.slot->w[1] = WORD(notify);
        gdx_show(&open);
        gdx_put_properties(&open, 0, properties);
        gdx_commit(&open);
    }
    cl_context result = gdx_cl_next.clCreateContextFromType(properties, device_type, notify, user_data, errcode);
    if (gdx_still_open(&open))
        open.slot->w[2] = WORD(result);
    gdx_end(&open, *errcode);
    gdx_cl_describe_devices(result);
    return result;
}

/* ---- programs ---- */

/* Appends one of the program's strings to `text`; false: there is no more to be had, or no room for it. */
static bool add_string(const struct gdx_reader *me, struct gdx_text *text, char *room, const char **strings,
                       const size_t *lengths, cl_uint i)
{
    const char *string = NULL;
    size_t length = 0, rest = GDX_LARGE_MAX - text->bytes, most;
    bool whole = false;
    if (!gdx_read(me, &string, strings + i, sizeof string)
        || (lengths && !gdx_read(me, &length, lengths + i, sizeof length)) || !string)
        return false;
    most = length && length < rest ? length : rest;
    size_t got = length ? gdx_read_some(me, room + text->bytes, string, most)
                        : gdx_read_text(me, room + text->bytes, most, string, &whole);
    text->bytes += got;
    return length ? got == length : whole;
}

/* The whole source, or as much of it as is kept, with a mark that it was cut. */
static void note_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths)
{
    int saved = errno;
    uint64_t word = WORD(program);
    struct gdx_lane *lane = gdx_lane();
    char *room = mmap(NULL, GDX_LARGE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lane && room != MAP_FAILED) {
        struct gdx_text text = { room, 0 };
        cl_uint i = 0;
        while (i < count && add_string(&lane->reader, &text, room, strings, lengths, i))
            i++;
        gdx_note_cut(GDX_CALL_note_source, &word, 1, text, i < count);
    }
    if (room != MAP_FAILED)
        munmap(room, GDX_LARGE_MAX);
    errno = saved;
}

cl_program rec_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings, const size_t *lengths,
                                         cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCreateProgramWithSource)) {
        open.slot->w[0] = WORD(context);
        open.slot->w[1] = count;
        open.slot->w[2] = WORD(strings);
        open.slot->w[3] = WORD(lengths);
        gdx_commit(&open);
    }
    size_t bytes = 0;
    char *edited = gdx_cl_edited(count, strings, lengths, &bytes);
    cl_program result = edited ? gdx_cl_next.clCreateProgramWithSource(context, 1, (const char **)&edited, &bytes, errcode)
                               : gdx_cl_next.clCreateProgramWithSource(context, count, strings, lengths, errcode);
    if (edited) {
        munmap(edited, bytes);
        gdx_cl_edited_made(result);
    }
    if (gdx_still_open(&open))
        open.slot->w[4] = WORD(result);
    gdx_end(&open, *errcode);
    if (result && gdx_on())
        note_source(result, count, strings, lengths);  /* the driver has just read these strings */
    if (result && gdx_checks())
        gdx_cl_check_source(result, count, strings, lengths);
    return result;
}

cl_int rec_clReleaseProgram(cl_program program)
{
    struct gdx_open open;
    if (BEGIN(clReleaseProgram)) {
        open.slot->w[0] = WORD(program);
        gdx_commit(&open);
        gdx_cl_forget_program(program);  /* its address may name another program next */
    }
    if (gdx_checks())
        gdx_cl_check_program_released(program);
    cl_int result = gdx_cl_next.clReleaseProgram(program);
    gdx_end(&open, result);
    return result;
}

cl_int rec_clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what, size_t room,
                                 void *value, size_t *value_size)
{
    struct gdx_open open;
    if (BEGIN(clGetProgramBuildInfo)) {
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = WORD(device);
        open.slot->w[2] = what;
        open.slot->w[3] = room;
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clGetProgramBuildInfo(program, device, what, room, value, value_size);
    gdx_end_quiet(&open, result);
    return result;
}

cl_int rec_clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id *devices, const char *options,
                          cl_program_callback notify, void *user_data)
{
    struct gdx_open open;
    if (BEGIN(clBuildProgram)) {
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = num_devices;
        open.slot->w[2] = WORD(notify);
        gdx_show(&open);
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        gdx_put_text(&open, 3, options);
        gdx_commit(&open);
        gdx_stack_of_work(&open);
    }
    cl_int result = gdx_cl_next.clBuildProgram(program, num_devices, devices, options, notify, user_data);
    gdx_end(&open, result);
    gdx_cl_note_build(program, num_devices, devices, result);
    if (gdx_checks() && result == CL_SUCCESS)
        gdx_cl_check_build(program, num_devices, devices, options);
    return result;
}

cl_int rec_clCompileProgram(cl_program program, cl_uint num_devices, const cl_device_id *devices, const char *options,
                            cl_uint num_input_headers, const cl_program *input_headers, const char **header_include_names,
                            cl_program_callback notify, void *user_data)
{
    struct gdx_open open;
    if (BEGIN(clCompileProgram)) {
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = num_devices;
        open.slot->w[2] = num_input_headers;
        open.slot->w[3] = WORD(input_headers);
        open.slot->w[4] = WORD(header_include_names);
        open.slot->w[5] = WORD(notify);
        gdx_show(&open);
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        gdx_put_text(&open, 3, options);
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clCompileProgram(program, num_devices, devices, options, num_input_headers, input_headers,
                                                 header_include_names, notify, user_data);
    gdx_end(&open, result);
    gdx_cl_note_build(program, num_devices, devices, result);
    if (gdx_checks() && result == CL_SUCCESS)
        gdx_cl_check_compiled(program, options, num_input_headers, input_headers, header_include_names);
    return result;
}

/* ---- kernels ---- */

cl_kernel rec_clCreateKernel(cl_program program, const char *kernel_name, cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCreateKernel)) {
        open.slot->w[0] = WORD(program);
        gdx_show(&open);
        gdx_put_text(&open, 1, kernel_name);
        gdx_commit(&open);
    }
    cl_kernel result = gdx_cl_next.clCreateKernel(program, kernel_name, errcode);
    gdx_cl_switch(program, result);
    if (gdx_still_open(&open))
        open.slot->w[1] = WORD(result);
    gdx_cl_kernel_born(result);
    gdx_cl_capture_kernel(program, result);
    gdx_end(&open, *errcode);
    gdx_cl_describe_kernel(program, result);
    if (gdx_checks())
        gdx_cl_check_kernel(program, result);
    return result;
}

/* One call, many objects: each is written down as if it had been made alone. */
static void note_made(cl_program program, cl_kernel kernel, void *caller)
{
    char name[1024];
    size_t bytes = 0;
    struct gdx_open open;
    gdx_cl_switch(program, kernel);
    gdx_cl_kernel_born(kernel);
    gdx_cl_capture_kernel(program, kernel);
    gdx_cl_describe_kernel(program, kernel);
    if (gdx_checks())
        gdx_cl_check_kernel(program, kernel);
    if (gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes) != CL_SUCCESS)
        return;
    if (gdx_begin(&open, GDX_CALL_clCreateKernel, caller)) {
        gdx_put(&open, 1, name, bytes ? bytes - 1 : 0);
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = WORD(kernel);
        gdx_commit(&open);
        gdx_end_quiet(&open, 0);
    }
}

cl_int rec_clCreateKernelsInProgram(cl_program program, cl_uint num_kernels, cl_kernel *kernels, cl_uint *num_kernels_ret)
{
    struct gdx_open open;
    cl_uint made = 0;
    num_kernels_ret = num_kernels_ret ? num_kernels_ret : &made;
    if (BEGIN(clCreateKernelsInProgram)) {
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = num_kernels;
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clCreateKernelsInProgram(program, num_kernels, kernels, num_kernels_ret);
    int saved = errno;
    gdx_end(&open, result);
    for (cl_uint i = 0; gdx_on() && result == CL_SUCCESS && kernels && i < *num_kernels_ret && i < num_kernels; i++)
        note_made(program, kernels[i], __builtin_return_address(0));
    errno = saved;
    return result;
}

cl_kernel rec_clCloneKernel(cl_kernel source_kernel, cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCloneKernel)) {
        open.slot->w[0] = WORD(source_kernel);
        gdx_commit(&open);
    }
    cl_kernel result = gdx_cl_next.clCloneKernel(source_kernel, errcode);
    if (gdx_still_open(&open))
        open.slot->w[1] = WORD(result);
    gdx_cl_kernel_copied(source_kernel, result);
    if (gdx_checks())
        gdx_cl_check_copy(source_kernel, result);
    gdx_end(&open, *errcode);
    return result;
}

cl_int rec_clRetainKernel(cl_kernel kernel)
{
    struct gdx_open open;
    if (BEGIN(clRetainKernel)) {
        open.slot->w[0] = WORD(kernel);
        gdx_commit(&open);
        gdx_cl_kernel_retained(kernel);
    }
    if (gdx_checks())
        gdx_cl_check_retain(kernel);
    cl_int result = gdx_cl_next.clRetainKernel(kernel);
    gdx_end(&open, result);
    return result;
}

cl_int rec_clReleaseKernel(cl_kernel kernel)
{
    struct gdx_open open;
    if (BEGIN(clReleaseKernel)) {
        open.slot->w[0] = WORD(kernel);
        gdx_commit(&open);
        gdx_first_stack(&open);
        gdx_cl_kernel_released(kernel);  /* before the driver can give the address to another thread */
    }
    if (gdx_checks())
        gdx_cl_check_release(kernel);
    cl_int result = gdx_cl_next.clReleaseKernel(kernel);
    gdx_end(&open, result);
    return result;
}

GDX_HOT cl_int rec_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct gdx_open open;
    struct gdx_cl_fresh fresh;
    const void *passed = value;
    cl_mem other;
    gdx_cl_turn_begins(kernel);
    if (BEGIN(clSetKernelArg)) {
        open.slot->w[0] = WORD(kernel);
        open.slot->w[1] = index;
        open.slot->w[2] = size;
        open.slot->w[3] = WORD(value);
        open.slot->w[4] = 0;
        gdx_show(&open);
        gdx_cl_argument_read(&open, &fresh, index, size, value);
        passed = gdx_cl_number(kernel, index, size, value, fresh.is.value);
        gdx_commit(&open);
        gdx_first_stack(&open);
    }
    if (gdx_cl_redirects())
        passed = gdx_cl_redirect_argument(kernel, index, size, passed, &other);
    cl_int result = gdx_cl_next.clSetKernelArg(kernel, gdx_cl_exchanged(kernel, index), size, passed);
    if (GDX_LIKELY(result == CL_SUCCESS && open.slot))
        gdx_cl_argument_keep(&open, kernel, index, &fresh);  /* what the driver refuses, the kernel does not hold */
    if (gdx_checks() && result == CL_SUCCESS)
        gdx_cl_check_argument(kernel, index, size, value, false);
    gdx_cl_capture_argument(kernel, index, size, value, result);
    gdx_end(&open, result);
    return result;
}

cl_int rec_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value)
{
    struct gdx_open open;
    struct gdx_cl_fresh fresh;
    gdx_cl_turn_begins(kernel);
    if (BEGIN(clSetKernelArgSVMPointer)) {
        open.slot->w[0] = WORD(kernel);
        open.slot->w[1] = index;
        open.slot->w[2] = sizeof value;
        open.slot->w[3] = open.slot->w[4] = WORD(value);
        fresh.is = (struct gdx_argument){ .index = (uint16_t)index, .flags = GDX_ARG_set | GDX_ARG_svm, .size = sizeof value,
                                          .setter = open.lane->tid, .value = WORD(value) };
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clSetKernelArgSVMPointer(kernel, index, value);
    if (result == CL_SUCCESS && open.slot)
        gdx_cl_argument_keep(&open, kernel, index, &fresh);
    if (gdx_checks() && result == CL_SUCCESS)
        gdx_cl_check_argument(kernel, index, sizeof value, value, true);
    gdx_end(&open, result);
    return result;
}

/* Sizes of a launch into words; a dimension that was not given stays 0. */
GDX_HOT static void put_sizes(struct gdx_open *open, unsigned word, cl_uint dims, const size_t *sizes)
{
    size_t given[3] = { 0 };
    if (sizes && dims && dims <= 3 && !gdx_read(&open->lane->reader, given, sizes, dims * sizeof *sizes)) {
        memset(given, 0, sizeof given);
        open->slot->flags |= GDX_FLAG_cut;
    }
    for (cl_uint i = 0; i < 3; i++)
        open->slot->w[word + i] = given[i];
}

/* The program's kernel, or the checked one in its place. */
GDX_HOT static cl_int launch(const struct gdx_cl_launch *l, const struct gdx_open *open)
{
    cl_int result;
    if (gdx_checks() && gdx_on() && gdx_cl_check_launch(l, open->slot ? open->slot->begin : 0, &result))
        return result;
    return gdx_cl_next.clEnqueueNDRangeKernel(l->queue, l->kernel, l->dims, l->offset, l->global, l->local, l->num_waits, l->waits,
                                              l->event);
}

GDX_HOT cl_int rec_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                                  const size_t *global_work_offset, const size_t *global_work_size,
                                  const size_t *local_work_size, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    struct gdx_open open;
    struct gdx_cl_site site;
    struct gdx_cl_crumb crumb;
    struct gdx_cl_capture capture;
    gdx_perturb();
    gdx_cl_launching(queue, kernel);
    gdx_cl_turn_begins(kernel);
    gdx_cl_watch_launch(false);
    if (BEGIN(clEnqueueNDRangeKernel)) {
        open.slot->w[0] = WORD(queue);
        open.slot->w[1] = WORD(kernel);
        memset(&open.slot->w[2], 0, 7 * sizeof *open.slot->w);
        gdx_show(&open);
        put_sizes(&open, 2, work_dim, global_work_size);
        put_sizes(&open, 5, work_dim, local_work_size);
        if (global_work_offset && work_dim <= 3)
            gdx_put(&open, 3, global_work_offset, work_dim * sizeof *global_work_offset);
        if (num_waits)
            gdx_put(&open, 7, waits, (size_t)num_waits * sizeof *waits);
        gdx_cl_put_arguments(&open, kernel);
        gdx_commit(&open);
        gdx_stack_of_work(&open);
    }
    gdx_cl_site_begins(&site, queue, NULL, kernel, num_waits, waits, event);
    gdx_cl_crumb_begins(&crumb, &open, queue, &site.event);
    const struct gdx_cl_launch whole = { queue, kernel, work_dim, global_work_offset, global_work_size, local_work_size,
                                         site.num_waits, site.waits, site.event };
    gdx_cl_capture_begins(&capture, &whole);
    cl_int result = launch(&whole, &open);
    if (event && result == CL_SUCCESS && gdx_still_open(&open))
        open.slot->w[8] = WORD(*event);
    gdx_cl_watch_submitted(queue, result == CL_SUCCESS);
    gdx_cl_crumb_ends(&crumb, &open, queue, result == CL_SUCCESS);
    gdx_end(&open, result);
    gdx_cl_site_ends(&site, queue, result == CL_SUCCESS);
    gdx_cl_turn_ends(kernel);
    gdx_cl_capture_ends(&capture, &whole, result);
    gdx_cl_launched(queue, kernel, result);
    gdx_cl_watch_launch(true);
    if (gdx_host_args() && result == CL_SUCCESS)
        gdx_cl_host_launched(kernel);
    return result;
}

cl_int rec_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    struct gdx_open open;
    struct gdx_cl_site site;
    struct gdx_cl_crumb crumb;
    struct gdx_cl_capture capture;
    static const size_t one = 1;
    gdx_perturb();
    gdx_cl_launching(queue, kernel);
    gdx_cl_turn_begins(kernel);
    gdx_cl_watch_launch(false);
    if (BEGIN(clEnqueueTask)) {
        open.slot->w[0] = WORD(queue);
        open.slot->w[1] = WORD(kernel);
        put_sizes(&open, 2, 1, &one);
        put_sizes(&open, 5, 1, &one);
        open.slot->w[8] = 0;
        gdx_show(&open);
        if (num_waits)
            gdx_put(&open, 3, waits, (size_t)num_waits * sizeof *waits);
        gdx_cl_put_arguments(&open, kernel);
        gdx_commit(&open);
        gdx_stack_of_work(&open);
    }
    gdx_cl_site_begins(&site, queue, NULL, kernel, num_waits, waits, event);
    gdx_cl_crumb_begins(&crumb, &open, queue, &site.event);
    struct gdx_cl_launch task = { queue, kernel, 1, NULL, &one, &one, site.num_waits, site.waits, site.event };
    cl_int result;
    gdx_cl_capture_begins(&capture, &task);
    if (!gdx_checks() || !gdx_on() || !gdx_cl_check_launch(&task, open.slot ? open.slot->begin : 0, &result))
        result = gdx_cl_next.clEnqueueTask(queue, kernel, site.num_waits, site.waits, site.event);
    if (event && result == CL_SUCCESS && gdx_still_open(&open))
        open.slot->w[8] = WORD(*event);
    gdx_cl_watch_submitted(queue, result == CL_SUCCESS);
    gdx_cl_crumb_ends(&crumb, &open, queue, result == CL_SUCCESS);
    gdx_end(&open, result);
    gdx_cl_site_ends(&site, queue, result == CL_SUCCESS);
    gdx_cl_turn_ends(kernel);
    gdx_cl_capture_ends(&capture, &task, result);
    gdx_cl_launched(queue, kernel, result);
    gdx_cl_watch_launch(true);
    return result;
}
