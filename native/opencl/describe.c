/* What the driver can tell about devices, kernels and builds, asked once through the driver's own table (never through
 * ours) and written to the ledger. A query that fails leaves a zero; it is never the program's failure. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/process.h"
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
    int saved = errno;
    if (!context || !gdx_on())
        return;
    if (gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) == CL_SUCCESS)
        for (size_t i = 0; i < bytes / sizeof *devices && i < DEVICES; i++)
            describe_device(devices[i]);
    errno = saved;
}

static cl_uint devices_of(cl_program program, cl_device_id devices[DEVICES])
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, DEVICES * sizeof *devices, devices, &bytes) != CL_SUCCESS)
        return 0;
    return (cl_uint)(bytes / sizeof *devices < DEVICES ? bytes / sizeof *devices : DEVICES);
}

/* "OpenCL 1.2 vendor's words": the specification fixes this form. Before 1.2 there is no clGetKernelArgInfo, and its
 * place in the driver's table may be empty. */
static bool is_1_2(cl_device_id device)
{
    char room[TEXT] = "";
    struct gdx_text version = device_text(device, CL_DEVICE_VERSION, room);
    return version.bytes >= 10 && !strncmp(room, "OpenCL ", 7) && strncmp(room + 7, "1.2", 3) >= 0;
}

bool gdx_cl_has_arg_info(cl_program program)
{
    cl_device_id devices[DEVICES];
    int saved = errno;
    cl_uint count = gdx_cl_next.clGetKernelArgInfo ? devices_of(program, devices) : 0, known = 0;
    while (known < count && is_1_2(devices[known]))
        known++;
    errno = saved;
    return count && known == count;
}

/* ---- kernels: once per program and name, however many kernel objects are made ---- */

static struct { uintptr_t program; uint64_t name; } seen[SEEN];

static uint64_t hash(struct gdx_text text)
{
    uint64_t h = 14695981039346656037ull;  /* FNV-1a */
    for (size_t i = 0; i < text.bytes; i++)
        h = (h ^ (unsigned char)text.data[i]) * 1099511628211ull;
    return h;
}

static bool first_time(cl_program program, struct gdx_text name)
{
    uint64_t h = hash(name);
    size_t at = (h ^ (uintptr_t)program >> 4) % SEEN;
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_SEEN, &calm);
    bool known = seen[at].program == (uintptr_t)program && seen[at].name == h;
    seen[at].program = (uintptr_t)program;
    seen[at].name = h;
    gdx_unlock(GDX_LOCK_SEEN, &calm);
    return !known;
}

void gdx_cl_forget_program(cl_program program)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_SEEN, &calm);
    for (size_t i = 0; i < SEEN; i++)
        if (seen[i].program == (uintptr_t)program)
            seen[i].program = 0;
    gdx_unlock(GDX_LOCK_SEEN, &calm);
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
        return;  /* built from a binary, or without -cl-kernel-arg-info: the source says it (src/gpudx/backends/opencl/signatures.py) */
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

static void describe_kernel(cl_program program, cl_kernel kernel)
{
    char room[TEXT];
    size_t bytes = 0;
    cl_uint args = 0;
    cl_device_id devices[DEVICES];
    if (gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof room, room, &bytes) != CL_SUCCESS || !bytes)
        return;
    struct gdx_text name = { room, bytes - 1 };
    if (!program)
        gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    if (!first_time(program, name))
        return;
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof args, &args, NULL);
    cl_uint count = devices_of(program, devices);
    for (cl_uint i = 0; i < count; i++)
        note_kernel(program, kernel, devices[i], args, name);
    for (cl_uint i = 0; gdx_cl_has_arg_info(program) && i < args; i++)
        describe_argument(kernel, i);
}

void gdx_cl_describe_kernel(cl_program program, cl_kernel kernel)
{
    int saved = errno;
    if (kernel && gdx_on())
        describe_kernel(program, kernel);
    errno = saved;
}

/* ---- builds ---- */

/* What the compiler said; the caller unmaps `bytes` of it, 0: nothing. */
static char *build_log(cl_program program, cl_device_id device, size_t *bytes)
{
    if (gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, bytes) != CL_SUCCESS)
        *bytes = 0;
    if (!*bytes)
        return NULL;
    char *log = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (log != MAP_FAILED)
        gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, *bytes, log, NULL);
    else
        *bytes = 0;
    return *bytes ? log : NULL;
}

static void note_build(cl_program program, cl_device_id device, cl_int status)
{
    size_t bytes = 0;
    char *log = build_log(program, device, &bytes);
    const uint64_t words[] = { (uint64_t)(uintptr_t)program, (uint64_t)(uintptr_t)device, (uint64_t)(int64_t)status };
    struct gdx_text text = { log, bytes ? strnlen(log, bytes) : 0 };
    gdx_note(GDX_CALL_note_build_log, words, 3, text, (struct gdx_text){ 0 }, NULL, 0);
    if (log)
        munmap(log, bytes);
}

static bool has_log(cl_int status)
{
    /* After a refused handle there is nothing to ask, and nobody safe to ask. */
    return status == CL_BUILD_PROGRAM_FAILURE || status == CL_COMPILE_PROGRAM_FAILURE || status == CL_LINK_PROGRAM_FAILURE;
}

void gdx_cl_note_build(cl_program program, cl_uint count, const cl_device_id *devices, cl_int status)
{
    cl_device_id all[DEVICES];
    int saved = errno;
    if (gdx_own_header())
        gdx_watch_signals();
    if (!gdx_on() || !has_log(status))
        return;
    if (!devices || !count) {
        count = devices_of(program, all);
        devices = all;
    }
    for (cl_uint i = 0; i < count && i < DEVICES; i++)
        note_build(program, devices[i], status);
    errno = saved;
}
