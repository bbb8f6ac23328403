/* Wrappers that do more than write their parameters down. Their prototypes and recorded fields come from
 * schema/opencl.toml like all others; word numbers are those of Call.fields in tools/schema_model.py. */
#define _GNU_SOURCE
#include "opencl/hooks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/perturb.h"
#include "core/stacks.h"
#include "opencl/crumbs.h"
#include "opencl/sites.h"
#include "opencl/turns.h"

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
        gdx_put_zero_ended(&open, 0, properties, sizeof *properties);
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        open.slot->w[0] = num_devices;
        open.slot->w[1] = WORD(notify);
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
        gdx_put_zero_ended(&open, 0, properties, sizeof *properties);
        open.slot->w[0] = device_type;
        open.slot->w[1] = WORD(notify);
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

static void note_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths)
{
    int saved = errno;
    size_t total = 0;
    uint64_t word = WORD(program);
    for (cl_uint i = 0; i < count; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    if (!total || total > GDX_LARGE_MAX)
        return;
    char *text = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        errno = saved;
        return;
    }
    size_t at = 0;
    for (cl_uint i = 0; i < count; i++) {
        size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(text + at, strings[i], n);
        at += n;
    }
    gdx_note(GDX_CALL_note_source, &word, 1, (struct gdx_text){ text, total }, (struct gdx_text){ 0 }, NULL, 0);
    munmap(text, total);
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
    cl_program result = gdx_cl_next.clCreateProgramWithSource(context, count, strings, lengths, errcode);
    if (gdx_still_open(&open))
        open.slot->w[4] = WORD(result);
    gdx_end(&open, *errcode);
    if (result && gdx_on())
        note_source(result, count, strings, lengths);  /* the driver has just read these strings */
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
    cl_int result = gdx_cl_next.clReleaseProgram(program);
    gdx_end(&open, result);
    return result;
}

/* Declared types of arguments need this option (OpenCL 1.2 specification, 5.7.3); it changes no code. A program that asks
 * for its options must get its own, so those that were built with ours are remembered; where two fall into one place,
 * the older is forgotten. */
static const char arg_info[] = "-cl-kernel-arg-info";
enum { REMEMBERED = 1024, OPTIONS = 4096 };
static _Atomic uintptr_t built_with_ours[REMEMBERED];

static _Atomic uintptr_t *memory_of(cl_program program)
{
    return &built_with_ours[((uintptr_t)program >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}

static const char *with_arg_info(cl_program program, const char *options, char *room, size_t bytes)
{
    if (!gdx_on() || (options && strstr(options, arg_info)) || !gdx_cl_has_arg_info(program))
        return options;
    int n = snprintf(room, bytes, "%s%s%s", options ? options : "", options && *options ? " " : "", arg_info);
    if (n < 0 || (size_t)n >= bytes)
        return options;
    atomic_store(memory_of(program), (uintptr_t)program);
    return room;
}

static void forget_options(cl_program program)
{
    uintptr_t own = (uintptr_t)program;
    atomic_compare_exchange_strong(memory_of(program), &own, 0);
}

/* Takes our option out of `text` with the blank that parts it from others; the new length with its zero. */
static size_t without_arg_info(char *text, size_t bytes)
{
    char *at = NULL;
    for (char *next = text; (next = strstr(next, arg_info)); next++)
        at = next;
    if (!at)
        return bytes;
    char *end = at + sizeof arg_info - 1;
    if (at > text && at[-1] == ' ')
        at--;
    else if (*end == ' ')
        end++;
    memmove(at, end, strlen(end) + 1);
    return strlen(text) + 1;
}

/* The options as the program gave them. */
static cl_int own_options(cl_program program, cl_device_id device, size_t room, void *value, size_t *value_size)
{
    char text[OPTIONS + sizeof arg_info + 1] = "";
    size_t bytes = 0;
    cl_int result = gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, &bytes);
    if (result != CL_SUCCESS || bytes == 0 || bytes > sizeof text || text[bytes - 1])
        return gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, room, value, value_size);
    bytes = without_arg_info(text, bytes);
    if (value && room < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, text, bytes);
    if (value_size)
        *value_size = bytes;
    return CL_SUCCESS;
}

cl_int rec_clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what, size_t room,
                                 void *value, size_t *value_size)
{
    struct gdx_open open;
    cl_int result;
    if (BEGIN(clGetProgramBuildInfo)) {
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = WORD(device);
        open.slot->w[2] = what;
        open.slot->w[3] = room;
        gdx_commit(&open);
    }
    if (what == CL_PROGRAM_BUILD_OPTIONS && program && atomic_load(memory_of(program)) == (uintptr_t)program)
        result = own_options(program, device, room, value, value_size);
    else
        result = gdx_cl_next.clGetProgramBuildInfo(program, device, what, room, value, value_size);
    gdx_end_quiet(&open, result);
    return result;
}

/* A driver that does not like our option is asked again, with the program's own. */
static bool build_again(cl_int result, const char *own, const char *used)
{
    return own != used && (result == CL_INVALID_BUILD_OPTIONS || result == CL_INVALID_COMPILER_OPTIONS);
}

cl_int rec_clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id *devices, const char *options,
                          cl_program_callback notify, void *user_data)
{
    struct gdx_open open;
    char room[OPTIONS];
    if (BEGIN(clBuildProgram)) {
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        gdx_put_text(&open, 3, options);
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = num_devices;
        open.slot->w[2] = WORD(notify);
        gdx_commit(&open);
    }
    forget_options(program);
    const char *used = with_arg_info(program, options, room, sizeof room);
    cl_int result = gdx_cl_next.clBuildProgram(program, num_devices, devices, used, notify, user_data);
    if (build_again(result, options, used))
        result = gdx_cl_next.clBuildProgram(program, num_devices, devices, options, notify, user_data);
    gdx_end(&open, result);
    gdx_cl_note_build(program, num_devices, devices, result);
    return result;
}

cl_int rec_clCompileProgram(cl_program program, cl_uint num_devices, const cl_device_id *devices, const char *options,
                            cl_uint num_input_headers, const cl_program *input_headers, const char **header_include_names,
                            cl_program_callback notify, void *user_data)
{
    struct gdx_open open;
    char room[OPTIONS];
    if (BEGIN(clCompileProgram)) {
        gdx_put(&open, 2, devices, (size_t)num_devices * sizeof *devices);
        gdx_put_text(&open, 3, options);
        open.slot->w[0] = WORD(program);
        open.slot->w[1] = num_devices;
        open.slot->w[2] = num_input_headers;
        open.slot->w[3] = WORD(input_headers);
        open.slot->w[4] = WORD(header_include_names);
        open.slot->w[5] = WORD(notify);
        gdx_commit(&open);
    }
    forget_options(program);
    const char *used = with_arg_info(program, options, room, sizeof room);
    cl_int result = gdx_cl_next.clCompileProgram(program, num_devices, devices, used, num_input_headers, input_headers,
                                                 header_include_names, notify, user_data);
    if (build_again(result, options, used))
        result = gdx_cl_next.clCompileProgram(program, num_devices, devices, options, num_input_headers, input_headers,
                                              header_include_names, notify, user_data);
    gdx_end(&open, result);
    gdx_cl_note_build(program, num_devices, devices, result);
    return result;
}

/* ---- kernels ---- */

cl_kernel rec_clCreateKernel(cl_program program, const char *kernel_name, cl_int *errcode)
{
    cl_int own = 0;
    struct gdx_open open;
    errcode = errcode ? errcode : &own;
    if (BEGIN(clCreateKernel)) {
        gdx_put_text(&open, 1, kernel_name);
        open.slot->w[0] = WORD(program);
        gdx_commit(&open);
    }
    cl_kernel result = gdx_cl_next.clCreateKernel(program, kernel_name, errcode);
    if (gdx_still_open(&open))
        open.slot->w[1] = WORD(result);
    gdx_cl_kernel_born(result);
    gdx_end(&open, *errcode);
    gdx_cl_describe_kernel(program, result);
    return result;
}

/* One call, many objects: each is written down as if it had been made alone. */
static void note_made(cl_program program, cl_kernel kernel, void *caller)
{
    char name[1024];
    size_t bytes = 0;
    struct gdx_open open;
    gdx_cl_kernel_born(kernel);
    gdx_cl_describe_kernel(program, kernel);
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
        gdx_cl_kernel_released(kernel);  /* before the driver can give the address to another thread */
    }
    cl_int result = gdx_cl_next.clReleaseKernel(kernel);
    gdx_end(&open, result);
    return result;
}

GDX_HOT cl_int rec_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct gdx_open open;
    struct gdx_argument fresh;
    gdx_cl_turn_begins(kernel);
    if (BEGIN(clSetKernelArg)) {
        open.slot->w[0] = WORD(kernel);
        open.slot->w[1] = index;
        open.slot->w[2] = size;
        open.slot->w[3] = WORD(value);
        fresh = gdx_cl_argument_read(&open, index, size, value, false);
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clSetKernelArg(kernel, index, size, value);
    if (GDX_LIKELY(result == CL_SUCCESS && open.slot))
        gdx_cl_argument_keep(kernel, index, &fresh, value);  /* what the driver refuses, the kernel does not hold */
    gdx_end(&open, result);
    return result;
}

cl_int rec_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value)
{
    struct gdx_open open;
    struct gdx_argument fresh;
    gdx_cl_turn_begins(kernel);
    if (BEGIN(clSetKernelArgSVMPointer)) {
        open.slot->w[0] = WORD(kernel);
        open.slot->w[1] = index;
        open.slot->w[2] = sizeof value;
        open.slot->w[3] = WORD(value);
        fresh = gdx_cl_argument_read(&open, index, sizeof value, value, true);
        gdx_commit(&open);
    }
    cl_int result = gdx_cl_next.clSetKernelArgSVMPointer(kernel, index, value);
    if (result == CL_SUCCESS && open.slot)
        gdx_cl_argument_keep(kernel, index, &fresh, value);
    gdx_end(&open, result);
    return result;
}

/* Sizes of a launch into words; a dimension that was not given stays 0. */
GDX_HOT static void put_sizes(struct gdx_open *open, unsigned word, cl_uint dims, const size_t *sizes)
{
    bool readable = sizes && dims <= 3 && dims && gdx_readable(open->lane, sizes, dims * sizeof *sizes);
    for (cl_uint i = 0; i < 3; i++)
        open->slot->w[word + i] = readable && i < dims ? sizes[i] : 0;
}

GDX_HOT cl_int rec_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                                  const size_t *global_work_offset, const size_t *global_work_size,
                                  const size_t *local_work_size, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    struct gdx_open open;
    struct gdx_cl_site site;
    struct gdx_cl_crumb crumb;
    gdx_perturb();
    gdx_cl_launching(queue, kernel);
    gdx_cl_turn_begins(kernel);
    gdx_cl_watch_launch(false);
    if (BEGIN(clEnqueueNDRangeKernel)) {
        open.slot->w[0] = WORD(queue);
        open.slot->w[1] = WORD(kernel);
        put_sizes(&open, 2, work_dim, global_work_size);
        put_sizes(&open, 5, work_dim, local_work_size);
        open.slot->w[8] = 0;
        if (global_work_offset && work_dim <= 3)
            gdx_put(&open, 3, global_work_offset, work_dim * sizeof *global_work_offset);
        if (num_waits)
            gdx_put(&open, 7, waits, (size_t)num_waits * sizeof *waits);
        gdx_cl_put_arguments(&open, kernel);
        gdx_commit(&open);
        gdx_stack_of_launch(&open);
    }
    gdx_cl_site_begins(&site, queue, NULL, kernel, num_waits, waits, event);
    gdx_cl_crumb_begins(&crumb, &open, queue, &site.event);
    cl_int result = gdx_cl_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, global_work_offset, global_work_size,
                                                       local_work_size, site.num_waits, site.waits, site.event);
    if (event && result == CL_SUCCESS && gdx_still_open(&open))
        open.slot->w[8] = WORD(*event);
    gdx_cl_watch_submitted(queue, result == CL_SUCCESS);
    gdx_cl_crumb_ends(&crumb, &open, queue, result == CL_SUCCESS);
    gdx_end(&open, result);
    gdx_cl_site_ends(&site, queue, result == CL_SUCCESS);
    gdx_cl_turn_ends(kernel);
    gdx_cl_launched(queue, kernel, result);
    gdx_cl_watch_launch(true);
    return result;
}

cl_int rec_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    struct gdx_open open;
    struct gdx_cl_site site;
    struct gdx_cl_crumb crumb;
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
        if (num_waits)
            gdx_put(&open, 3, waits, (size_t)num_waits * sizeof *waits);
        gdx_cl_put_arguments(&open, kernel);
        gdx_commit(&open);
        gdx_stack_of_launch(&open);
    }
    gdx_cl_site_begins(&site, queue, NULL, kernel, num_waits, waits, event);
    gdx_cl_crumb_begins(&crumb, &open, queue, &site.event);
    cl_int result = gdx_cl_next.clEnqueueTask(queue, kernel, site.num_waits, site.waits, site.event);
    if (event && result == CL_SUCCESS && gdx_still_open(&open))
        open.slot->w[8] = WORD(*event);
    gdx_cl_watch_submitted(queue, result == CL_SUCCESS);
    gdx_cl_crumb_ends(&crumb, &open, queue, result == CL_SUCCESS);
    gdx_end(&open, result);
    gdx_cl_site_ends(&site, queue, result == CL_SUCCESS);
    gdx_cl_turn_ends(kernel);
    gdx_cl_launched(queue, kernel, result);
    gdx_cl_watch_launch(true);
    return result;
}
