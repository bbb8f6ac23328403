/* What the driver can tell about devices, kernels and builds, asked once through the driver's own table (never through
 * ours) and written to the ledger. A query that fails leaves a zero; it is never the program's failure. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sched.h>

#include "opencl/hooks.h"

enum { TEXT = 1024, DEVICES = 64, SEEN = 2048 };

static uint64_t device_number(cl_device_id device, cl_device_info what)
{
    uint64_t value = 0;
    if (gdx_cl_next.clGetDeviceInfo(device, what, sizeof value, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

static struct gdx_text device_text(cl_device_id device, cl_device_info what, char room[TEXT])
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetDeviceInfo(device, what, TEXT, room, &bytes) != CL_SUCCESS || !bytes || bytes > TEXT)
        return (struct gdx_text){ room, 0 };
    return (struct gdx_text){ room, bytes - 1 };
}

static void describe_device(cl_device_id device)
{
    char name[TEXT], version[2 * TEXT];
    size_t sizes[16] = { 0 };
    uint64_t limits[4] = { 0 };
    gdx_cl_next.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    for (int i = 0; i < 3; i++)
        limits[i] = sizes[i];
    limits[3] = device_number(device, CL_DEVICE_MAX_PARAMETER_SIZE);
    const uint64_t words[] = {
        (uint64_t)(uintptr_t)device,
        device_number(device, CL_DEVICE_TYPE),
        device_number(device, CL_DEVICE_ADDRESS_BITS),
        device_number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
        device_number(device, CL_DEVICE_MAX_COMPUTE_UNITS),
        device_number(device, CL_DEVICE_LOCAL_MEM_SIZE),
        device_number(device, CL_DEVICE_GLOBAL_MEM_SIZE),
        device_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        device_number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN),
    };
    struct gdx_text driver = device_text(device, CL_DRIVER_VERSION, version);
    version[driver.bytes++] = '\n';
    struct gdx_text platform = device_text(device, CL_DEVICE_VERSION, version + driver.bytes);
    driver.bytes += platform.bytes;
    gdx_note(GDX_CALL_note_device, words, 9, device_text(device, CL_DEVICE_NAME, name), driver, limits, 4);
}

void gdx_cl_describe_devices(cl_context context)
{
    cl_device_id devices[DEVICES];
    size_t bytes = 0;
    if (!context || !gdx_on())
        return;
    if (gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS)
        return;
    for (size_t i = 0; i < bytes / sizeof *devices && i < DEVICES; i++)
        describe_device(devices[i]);
}

/* ---- kernels: once per program and name, however many kernel objects are made ---- */

static struct { uintptr_t program; uint64_t name; } seen[SEEN];
static atomic_flag seen_lock = ATOMIC_FLAG_INIT;

static uint64_t hash(struct gdx_text text)
{
    uint64_t h = 14695981039346656037ull;  /* FNV-1a */
    for (size_t i = 0; i < text.bytes; i++)
        h = (h ^ (unsigned char)text.data[i]) * 1099511628211ull;
    return h;
}

static void lock_seen(void)
{
    while (atomic_flag_test_and_set_explicit(&seen_lock, memory_order_acquire))
        sched_yield();
}

static void unlock_seen(void)
{
    atomic_flag_clear_explicit(&seen_lock, memory_order_release);
}

static bool first_time(cl_program program, struct gdx_text name)
{
    uint64_t h = hash(name);
    size_t at = (h ^ (uintptr_t)program >> 4) % SEEN;
    lock_seen();
    bool known = seen[at].program == (uintptr_t)program && seen[at].name == h;
    seen[at].program = (uintptr_t)program;
    seen[at].name = h;
    unlock_seen();
    return !known;
}

void gdx_cl_forget_program(cl_program program)
{
    lock_seen();
    for (size_t i = 0; i < SEEN; i++)
        if (seen[i].program == (uintptr_t)program)
            seen[i].program = 0;
    unlock_seen();
}

static struct gdx_text argument_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, char room[TEXT])
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetKernelArgInfo(kernel, index, what, TEXT, room, &bytes) != CL_SUCCESS || !bytes || bytes > TEXT)
        return (struct gdx_text){ room, 0 };
    return (struct gdx_text){ room, bytes - 1 };
}

static uint64_t argument_number(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what)
{
    uint64_t value = 0;
    if (gdx_cl_next.clGetKernelArgInfo(kernel, index, what, sizeof value, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

static void describe_argument(cl_kernel kernel, cl_uint index)
{
    char type[TEXT], name[TEXT];
    struct gdx_text type_name = argument_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, type);
    if (!type_name.bytes)
        return;  /* built from a binary, or without -cl-kernel-arg-info */
    const uint64_t words[] = {
        (uint64_t)(uintptr_t)kernel,
        index,
        argument_number(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER) - (CL_KERNEL_ARG_ADDRESS_GLOBAL - 1),
        argument_number(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER) - (CL_KERNEL_ARG_ACCESS_READ_ONLY - 1),
        argument_number(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER),
    };
    gdx_note(GDX_CALL_note_kernel_arg, words, 5, type_name, argument_text(kernel, index, CL_KERNEL_ARG_NAME, name), NULL, 0);
}

static uint64_t group_number(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what)
{
    uint64_t value = 0;
    if (gdx_cl_next.clGetKernelWorkGroupInfo(kernel, device, what, sizeof value, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

static void note_kernel(cl_program program, cl_kernel kernel, cl_device_id device, cl_uint args, struct gdx_text name)
{
    size_t required[3] = { 0 };
    gdx_cl_next.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL);
    const uint64_t numbers[] = { required[0], required[1], required[2] };
    const uint64_t words[] = {
        (uint64_t)(uintptr_t)kernel,
        (uint64_t)(uintptr_t)program,
        args,
        group_number(kernel, device, CL_KERNEL_WORK_GROUP_SIZE),
        group_number(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE),
        group_number(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE),
        group_number(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
        (uint64_t)(uintptr_t)device,
    };
    gdx_note(GDX_CALL_note_kernel, words, 8, name, (struct gdx_text){ 0 }, numbers, 3);
}

void gdx_cl_describe_kernel(cl_program program, cl_kernel kernel)
{
    char room[TEXT];
    size_t bytes = 0;
    cl_uint args = 0, devices = 0;
    cl_device_id device[DEVICES];
    if (!kernel || !gdx_on())
        return;
    if (gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof room, room, &bytes) != CL_SUCCESS || !bytes)
        return;
    struct gdx_text name = { room, bytes - 1 };
    if (!program)
        gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    if (!first_time(program, name))
        return;
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof args, &args, NULL);
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, device, &bytes) == CL_SUCCESS)
        devices = (cl_uint)(bytes / sizeof *device);
    for (cl_uint i = 0; i < devices && i < DEVICES; i++)
        note_kernel(program, kernel, device[i], args, name);
    for (cl_uint i = 0; i < args; i++)
        describe_argument(kernel, i);
}

/* ---- builds ---- */

static void note_build(cl_program program, cl_device_id device, cl_int status)
{
    static const char empty[] = "";
    char log[16 * TEXT];
    size_t bytes = 0;
    if (gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, &bytes) != CL_SUCCESS)
        bytes = 0;
    const uint64_t words[] = { (uint64_t)(uintptr_t)program, (uint64_t)(uintptr_t)device, (uint64_t)(int64_t)status };
    struct gdx_text text = { bytes ? log : empty, bytes > 1 ? bytes - 1 : 0 };
    gdx_note(GDX_CALL_note_build_log, words, 3, text, (struct gdx_text){ 0 }, NULL, 0);
}

void gdx_cl_note_build(cl_program program, cl_uint count, const cl_device_id *devices, cl_int status)
{
    cl_device_id all[DEVICES];
    size_t bytes = 0;
    if (!gdx_on() || status == CL_SUCCESS)
        return;
    if (!devices || !count) {
        if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof all, all, &bytes) != CL_SUCCESS)
            return;
        devices = all;
        count = (cl_uint)(bytes / sizeof *all);
    }
    for (cl_uint i = 0; i < count && i < DEVICES; i++)
        note_build(program, devices[i], status);
}
