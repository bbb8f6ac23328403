/* Makes every query of the OpenCL API about every kind of object, with every name in the ranges that the API uses, and prints what it was
 * told: status, size, value. What differs from run to run (times, addresses) is left out; handles are printed by their names. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 16, HANDLES = 256, BYTES = 4096 };
static struct { const void *handle; const char *name; } handles[HANDLES];
static int count;
static unsigned char room[ROOM];
static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static void *name(const void *handle, const char *text)
{
    if (handle && count < HANDLES) {
        handles[count].handle = handle;
        handles[count++].name = text;
    }
    return (void *)(uintptr_t)handle;
}

/* ---- printing ---- */

static void print_word(uint64_t word)
{
    for (int i = count - 1; i >= 0; i--)
        if (handles[i].handle == (const void *)(uintptr_t)word) {
            printf(" <%s>", handles[i].name);
            return;
        }
    if (word >> 40 && word < 1ull << 47)
        printf(" <address>");
    else
        printf(" %llx", (unsigned long long)word);
}

static void print_bytes(const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    uint64_t word;
    for (; at + 8 <= size; at += 8) {
        memcpy(&word, bytes + at, 8);
        print_word(word);
    }
    for (; at < size; at++)
        printf(" %02x", bytes[at]);
}

/* Names with versions: what is behind the end of a name is whatever the driver had there. */
struct versioned { cl_uint version; char name[64]; };

static int is_versioned(unsigned parameter)
{
    static const unsigned all[] = { 0x0907, 0x1060, 0x1061, 0x1062, 0x1066, 0x106f };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == parameter)
            return 1;
    return 0;
}

static void print_versions(size_t size)
{
    for (size_t at = 0; at + sizeof(struct versioned) <= size; at += sizeof(struct versioned)) {
        struct versioned one;
        memcpy(&one, room + at, sizeof one);
        printf(" %.64s %x", one.name, one.version);
    }
}

/* Messages may have the name of a temporary file in them (PoCL). */
static void hide_file(void)
{
    static const char before[] = "tempfile_";
    char *found = strstr((char *)room, before);
    if (found)
        memset(found + sizeof before - 1, '?', 6);
}

static void print_value(unsigned parameter, size_t size)
{
    if (parameter == CL_PROGRAM_BUILD_LOG)
        hide_file();
    if (is_versioned(parameter))
        print_versions(size);
    else
        print_bytes(room, size);
}

static void print_answer(const char *what, unsigned parameter, cl_int status, size_t size, int with_value)
{
    printf("%s %x: %d", what, parameter, status);
    if (status == CL_SUCCESS) {
        printf(" [%zu]", size);
        if (with_value)
            print_value(parameter, size < ROOM ? size : ROOM);
    }
    puts("");
}

/* ---- queries of one object, as calls with the same last parameters ---- */

struct subject { void *object, *more; unsigned number; const void *input; size_t input_size; };
typedef cl_int query(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used);

#define QUERY(name, first)                                                                              \
    static cl_int ask_##name(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used) \
    {                                                                                                   \
        return name(first, parameter, size, value, used);                                               \
    }
QUERY(clGetPlatformInfo, s.object)
QUERY(clGetDeviceInfo, s.object)
QUERY(clGetContextInfo, s.object)
QUERY(clGetCommandQueueInfo, s.object)
QUERY(clGetMemObjectInfo, s.object)
QUERY(clGetImageInfo, s.object)
QUERY(clGetPipeInfo, s.object)
QUERY(clGetSamplerInfo, s.object)
QUERY(clGetProgramInfo, s.object)
QUERY(clGetKernelInfo, s.object)
QUERY(clGetEventInfo, s.object)
QUERY(clGetEventProfilingInfo, s.object)

static cl_int ask_clGetProgramBuildInfo(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used)
{
    return clGetProgramBuildInfo(s.object, s.more, parameter, size, value, used);
}

static cl_int ask_clGetKernelWorkGroupInfo(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used)
{
    return clGetKernelWorkGroupInfo(s.object, s.more, parameter, size, value, used);
}

static cl_int ask_clGetKernelArgInfo(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used)
{
    return clGetKernelArgInfo(s.object, s.number, parameter, size, value, used);
}

static cl_int ask_clGetKernelSubGroupInfo(struct subject s, cl_uint parameter, size_t size, void *value, size_t *used)
{
    return clGetKernelSubGroupInfo(s.object, s.more, parameter, s.input_size, s.input, size, value, used);
}

static const struct { const char *name; query *ask; unsigned from, to; int timed; } queries[] = {
#define ABOUT(name, from, to) { #name, ask_##name, from, to, 0 }
    ABOUT(clGetPlatformInfo, 0x0900, 0x0910),
    ABOUT(clGetDeviceInfo, 0x1000, 0x1080),
    ABOUT(clGetContextInfo, 0x1080, 0x1088),
    ABOUT(clGetCommandQueueInfo, 0x1090, 0x109a),
    ABOUT(clGetMemObjectInfo, 0x1100, 0x110e),
    ABOUT(clGetImageInfo, 0x1110, 0x111d),
    ABOUT(clGetPipeInfo, 0x1120, 0x1124),
    ABOUT(clGetSamplerInfo, 0x1150, 0x115a),
    ABOUT(clGetProgramInfo, 0x1160, 0x116d),
    ABOUT(clGetProgramBuildInfo, 0x1181, 0x1188),
    ABOUT(clGetKernelInfo, 0x1190, 0x1196),
    ABOUT(clGetKernelArgInfo, 0x1196, 0x119c),
    ABOUT(clGetKernelWorkGroupInfo, 0x11b0, 0x11b8),
    ABOUT(clGetKernelSubGroupInfo, 0x2033, 0x2036),
    ABOUT(clGetKernelSubGroupInfo, 0x11b8, 0x11bc),
    ABOUT(clGetEventInfo, 0x11d0, 0x11d6),
    { "clGetEventProfilingInfo", ask_clGetEventProfilingInfo, 0x1280, 0x1286, 1 },
};

/* Not a value: binaries are written where the value points. */
static int is_special(query *ask, unsigned parameter)
{
    return ask == ask_clGetProgramInfo && parameter == CL_PROGRAM_BINARIES;
}

/* In each way in which a program may ask: for the size alone, for the value, with too little room, with room and no size. */
static void ask_one(int q, struct subject s, unsigned parameter)
{
    size_t size = 0, again = 77;
    query *ask = queries[q].ask;
    cl_int status = ask(s, parameter, 0, NULL, &size);
    print_answer(queries[q].name, parameter, status, size, 0);
    if (is_special(ask, parameter))
        return;
    memset(room, 0, sizeof room);
    status = ask(s, parameter, sizeof room, room, &again);
    print_answer("  value", parameter, status, again, !queries[q].timed);
    if (status == CL_SUCCESS && size > 1)
        printf("  small: %d\n", ask(s, parameter, size - 1, room, NULL));
    printf("  nothing: %d\n", ask(s, parameter, 0, NULL, NULL));
}

static void ask_all(const char *title, query *ask, struct subject s)
{
    printf("== %s\n", title);
    for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
        for (unsigned parameter = queries[q].from; queries[q].ask == ask && parameter < queries[q].to; parameter++)
            ask_one((int)q, s, parameter);
    fflush(stdout);
}

#define ASK(function, about, ...) \
    ask_all(#function " " #about, ask_##function, (struct subject){ .object = (about), __VA_ARGS__ })

/* ---- objects ---- */

static const char *const source =
    "kernel void plain(global int *out, global const float *in, int n, local int *shared)\n"
    "{ int i = get_global_id(0); if (i < n) out[i] = (int)in[i]; }\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void fixed(global int *out) { out[get_global_id(0)] = 7; }\n";

static cl_program make_program(const char *options, const char *text, const char *title)
{
    cl_int status;
    cl_program made = name(clCreateProgramWithSource(context, 1, &text, NULL, &status), title);
    printf("program %s: %d", title, status);
    if (options)
        printf(" built %d", clBuildProgram(made, 1, &device, options, NULL, NULL));
    puts("");
    return made;
}

static void about_program(const char *title, cl_program program)
{
    printf("#### program %s\n", title);
    ASK(clGetProgramInfo, program);
    ASK(clGetProgramBuildInfo, program, .more = device);
    ASK(clGetProgramBuildInfo, program, .more = NULL);
}

static void about_kernel(const char *title, cl_kernel kernel)
{
    size_t local[3] = { 4, 1, 1 };
    printf("#### kernel %s\n", title);
    ASK(clGetKernelInfo, kernel);
    for (unsigned i = 0; i < 5; i++)
        ASK(clGetKernelArgInfo, kernel, .number = i);
    ASK(clGetKernelWorkGroupInfo, kernel, .more = device);
    ASK(clGetKernelWorkGroupInfo, kernel, .more = NULL);
    ASK(clGetKernelSubGroupInfo, kernel, .more = device, .input = local, .input_size = sizeof local);
}

static void about_memory(const char *title, cl_mem mem)
{
    printf("#### memory %s\n", title);
    ASK(clGetMemObjectInfo, mem);
    ASK(clGetImageInfo, mem);
}

static void binary_of(cl_program program)
{
    size_t size = 0;
    unsigned char *binary;
    cl_int status = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL), loaded = 0;
    printf("binary: %d %d", status, size > 0);
    binary = calloc(1, size + 1);
    printf(" %d", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + binary[i];
    printf(" %zu bytes %llx\n", size, (unsigned long long)sum);
    cl_program again = name(clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, &loaded, &status),
                            "from binary");
    printf("loaded %d %d", status, loaded);
    if (again) {
        printf(" built %d\n", clBuildProgram(again, 1, &device, "-cl-opt-disable", NULL, NULL));
        about_program("from binary", again);
        clReleaseProgram(again);
    }
    free(binary);
}

static void linked(void)
{
    cl_int status;
    cl_program part = make_program(NULL, source, "part");
    printf("compiled %d\n", clCompileProgram(part, 1, &device, "-DX=1", 0, NULL, NULL, NULL, NULL));
    about_program("compiled", part);
    cl_program whole = name(clLinkProgram(context, 1, &device, "", 1, &part, NULL, NULL, &status), "linked");
    printf("linked %d\n", status);
    if (whole) {
        about_program("linked", whole);
        clReleaseProgram(whole);
    }
    clReleaseProgram(part);
}

static void programs(void)
{
    static const char *const options[] = { "", "-cl-kernel-arg-info", "-DX=1  -cl-fast-relaxed-math", "-cl-std=CL1.2 -w" };
    cl_int status;
    about_program("fresh", make_program(NULL, source, "fresh"));
    about_program("broken", make_program("", "kernel void broken(global int *x) { y = 1; }\n", "broken"));
    for (int i = 0; i < 4; i++) {
        cl_program program = make_program(options[i], source, options[i]);
        about_program(options[i], program);
        cl_kernel plain = name(clCreateKernel(program, "plain", &status), "plain"), fixed = clCreateKernel(program, "fixed", &status);
        name(fixed, "fixed");
        about_kernel("plain", plain);
        about_kernel("fixed", fixed);
        printf("missing: %d", clCreateKernel(program, "missing", &status) != NULL);
        printf(" %d\n", status);
        cl_kernel all[8];
        cl_uint made = 0;
        printf("kernels: %d", clCreateKernelsInProgram(program, 8, all, &made));
        printf(" %u\n", made);
        for (cl_uint k = 0; k < made; k++)
            clReleaseKernel(all[k]);
        ASK(clGetProgramInfo, program);
        if (!i)
            binary_of(program);
        clReleaseKernel(plain);
        clReleaseKernel(fixed);
    }
    linked();
}

static void memory(void)
{
    static int host[BYTES / 4];
    cl_int status;
    cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8 };
    cl_buffer_region region = { BYTES / 2, BYTES / 2 };
    name(host, "host memory");
    cl_mem fresh = name(clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status), "fresh buffer");
    cl_mem odd = name(clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, 1001, NULL, &status), "odd buffer");
    cl_mem used = name(clCreateBuffer(context, CL_MEM_USE_HOST_PTR, BYTES, host, &status), "used buffer");
    cl_mem copied = name(clCreateBuffer(context, CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_READ_ONLY, BYTES, host, &status), "copied buffer");
    cl_mem part = name(clCreateSubBuffer(fresh, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status), "part");
    printf("part %d\n", status);
    cl_mem image = name(clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status), "image");
    printf("image %d\n", status);
    cl_mem pipe = name(clCreatePipe(context, CL_MEM_READ_WRITE, 4, 16, NULL, &status), "pipe");
    printf("pipe %d\n", status);
    printf("too large %d", clCreateBuffer(context, 0, ~(size_t)0 >> 1, NULL, &status) != NULL);
    printf(" %d\n", status);
    printf("empty %d", clCreateBuffer(context, 0, 0, NULL, &status) != NULL);
    printf(" %d\n", status);
    about_memory("fresh", fresh);
    ASK(clGetContextInfo, context);
    about_memory("odd", odd);
    about_memory("used", used);
    about_memory("copied", copied);
    about_memory("part", part);
    if (image)
        about_memory("image", image);
    if (pipe)
        ASK(clGetPipeInfo, pipe);
    clRetainMemObject(fresh);
    about_memory("fresh, retained", fresh);
    clReleaseMemObject(fresh);
    void *at = clEnqueueMapBuffer(queue, odd, CL_TRUE, CL_MAP_WRITE, 0, 1001, 0, NULL, NULL, &status);
    name(at, "mapped");
    about_memory("odd, mapped", odd);
    clEnqueueUnmapMemObject(queue, odd, at, 0, NULL, NULL);
    clFinish(queue);
    about_memory("odd, unmapped", odd);
    clReleaseMemObject(part);
    about_memory("fresh, without its part", fresh);
    void *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    printf("shared %d\n", shared != NULL);
    if (shared) {
        name(shared, "shared memory");
        cl_mem over = name(clCreateBuffer(context, CL_MEM_USE_HOST_PTR, BYTES, shared, &status), "over shared memory");
        about_memory("over shared memory", over);
        clReleaseMemObject(over);
        clSVMFree(context, shared);
    }
    clReleaseMemObject(copied);
    clReleaseMemObject(used);
    clReleaseMemObject(odd);
    clReleaseMemObject(fresh);
}

/* PoCL drops its own reference a moment after the command has ended. */
static void settle(cl_event event)
{
    cl_uint held = 2;
    for (int tries = 0; event && held > 1 && tries < 2000; tries++) {
        clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof held, &held, NULL);
        usleep(1000);
    }
}

/* So it does with the references that commands have to their queue. */
static void settle_queue(cl_command_queue used)
{
    cl_uint held = 2;
    for (int tries = 0; held > 1 && tries < 2000; tries++) {
        clGetCommandQueueInfo(used, 0x1092 /* CL_QUEUE_REFERENCE_COUNT */, sizeof held, &held, NULL);
        usleep(1000);
    }
}

static void queues(void)
{
    static const cl_queue_properties wanted[] = { CL_QUEUE_PROPERTIES,
                                                  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, 0 };
    cl_int status;
    cl_command_queue old = name(clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status), "old queue");
    cl_command_queue other = name(clCreateCommandQueueWithProperties(context, device, wanted, &status), "other queue");
    printf("other %d\n", status);
    cl_command_queue simple = name(clCreateCommandQueueWithProperties(context, device, NULL, &status), "simple queue");
    ASK(clGetCommandQueueInfo, queue);
    ASK(clGetCommandQueueInfo, old);
    ASK(clGetCommandQueueInfo, other);
    ASK(clGetCommandQueueInfo, simple);
    clRetainCommandQueue(other);
    ASK(clGetCommandQueueInfo, other);
    clReleaseCommandQueue(other);
    ASK(clGetContextInfo, context);
    cl_event user = name(clCreateUserEvent(context, &status), "user event"), marker = NULL, done = NULL;
    ASK(clGetEventInfo, user);
    ASK(clGetEventProfilingInfo, user);
    cl_mem buffer = name(clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status), "filled");
    int zero = 0;
    clEnqueueFillBuffer(old, buffer, &zero, sizeof zero, 0, BYTES, 0, NULL, &done);
    clFinish(old);
    settle(done);
    name(done, "done");
    ASK(clGetEventInfo, done);
    ASK(clGetEventProfilingInfo, done);
    clEnqueueMarkerWithWaitList(old, 0, NULL, &marker);
    clFinish(old);
    settle(marker);
    name(marker, "marker");
    ASK(clGetEventInfo, marker);
    clSetUserEventStatus(user, CL_COMPLETE);
    ASK(clGetEventInfo, user);
    clReleaseEvent(user), clReleaseEvent(marker), clReleaseEvent(done);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(simple), clReleaseCommandQueue(other), clReleaseCommandQueue(old);
}

static void used_kernel(void)
{
    cl_int status;
    cl_program program = make_program("", source, "used");
    cl_kernel kernel = name(clCreateKernel(program, "plain", &status), "used kernel");
    cl_mem out = name(clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status), "out");
    cl_mem in = name(clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status), "in");
    int n = 16;
    size_t items = 16;
    float zero = 0;
    clEnqueueFillBuffer(queue, in, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL);
    printf("set %d", clSetKernelArg(kernel, 0, sizeof out, &out));
    printf(" %d", clSetKernelArg(kernel, 1, sizeof in, &in));
    printf(" %d", clSetKernelArg(kernel, 2, sizeof n, &n));
    printf(" %d", clSetKernelArg(kernel, 3, 64, NULL));
    printf(" %d", clSetKernelArg(kernel, 9, sizeof n, &n));
    printf(" %d", clSetKernelArg(kernel, 2, 3, &n));
    printf(" %d\n", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    clFinish(queue);
    about_kernel("after its launch", kernel);
    cl_kernel twin = name(clCloneKernel(kernel, &status), "twin");
    printf("twin %d\n", status);
    if (twin) {
        about_kernel("twin", twin);
        clReleaseKernel(twin);
    }
    ASK(clGetProgramInfo, program);
    clRetainKernel(kernel);
    ASK(clGetKernelInfo, kernel);
    clReleaseKernel(kernel);
    clReleaseKernel(kernel);
    ASK(clGetProgramInfo, program);
    clReleaseProgram(program);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    settle_queue(queue);
    ASK(clGetCommandQueueInfo, queue);
}

static void nothing(void)
{
    cl_uint n = 99;
    printf("#### nothing\n");
    printf("%d %d\n", clGetDeviceIDs(NULL, CL_DEVICE_TYPE_CUSTOM, 0, NULL, &n), n);
    printf("%d\n", clGetContextInfo(NULL, CL_CONTEXT_DEVICES, 0, NULL, NULL));
    printf("%d\n", clGetCommandQueueInfo(NULL, CL_QUEUE_CONTEXT, 0, NULL, NULL));
    printf("%d\n", clGetMemObjectInfo(NULL, CL_MEM_SIZE, 0, NULL, NULL));
    printf("%d\n", clGetImageInfo(NULL, 0x1114 /* CL_IMAGE_WIDTH */, 0, NULL, NULL));
    printf("%d\n", clGetSamplerInfo(NULL, 0x1151 /* CL_SAMPLER_CONTEXT */, 0, NULL, NULL));
    printf("%d\n", clGetProgramInfo(NULL, CL_PROGRAM_SOURCE, 0, NULL, NULL));
    printf("%d\n", clGetProgramBuildInfo(NULL, device, CL_PROGRAM_BUILD_LOG, 0, NULL, NULL));
    printf("%d\n", clGetKernelInfo(NULL, CL_KERNEL_FUNCTION_NAME, 0, NULL, NULL));
    printf("%d\n", clGetKernelArgInfo(NULL, 0, CL_KERNEL_ARG_NAME, 0, NULL, NULL));
    printf("%d\n", clGetKernelWorkGroupInfo(NULL, device, CL_KERNEL_WORK_GROUP_SIZE, 0, NULL, NULL));
    printf("%d\n", clGetEventInfo(NULL, CL_EVENT_CONTEXT, 0, NULL, NULL));
    printf("%d\n", clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 0, NULL, NULL));
    printf("%d\n", clSetKernelArg(NULL, 0, 8, &n));
    printf("%d\n", clReleaseMemObject(NULL));
}

static void image_formats(void)
{
    cl_uint number = 0;
    printf("formats: %d", clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &number));
    printf(" %u\n", number);
    memset(room, 0, sizeof room);
    clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, ROOM / sizeof(cl_image_format), (void *)room, NULL);
    print_bytes(room, number * sizeof(cl_image_format));
    puts("");
}

static void addresses(cl_platform_id platform)
{
    static const char *const names[] = { "clGetKernelSuggestedLocalWorkSizeKHR", "clIcdGetPlatformIDsKHR", "clCreateCommandQueueWithPropertiesKHR",
                                         "clMemBlockingFreeINTEL", "clNoSuchFunctionEXT", "clEnqueueSVMMemFill", "clHostMemAllocINTEL" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        printf("%s: %d\n", names[i], clGetExtensionFunctionAddressForPlatform(platform, names[i]) != NULL);
}

int main(void)
{
    cl_platform_id platform;
    cl_int status;
    cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, 0, 0 };
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    name(platform, "platform");
    name(device, "device");
    properties[1] = (cl_context_properties)platform;
    ASK(clGetPlatformInfo, platform);
    ASK(clGetDeviceInfo, device);
    context = name(clCreateContext(properties, 1, &device, NULL, NULL, &status), "context");
    ASK(clGetContextInfo, context);
    queue = name(clCreateCommandQueue(context, device, 0, &status), "queue");
    cl_sampler sampler = name(clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status), "sampler");
    if (sampler) {
        ASK(clGetSamplerInfo, sampler);
        clReleaseSampler(sampler);
    }
    image_formats();
    addresses(platform);
    nothing();
    queues();
    memory();
    programs();
    used_kernel();
    ASK(clGetContextInfo, context);
    ASK(clGetDeviceInfo, device);
    printf("released %d", clReleaseCommandQueue(queue));
    printf(" %d\n", clReleaseContext(context));
    return 0;
}
