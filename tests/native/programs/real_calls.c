/* Calls as much of OpenCL as a real driver supports and prints what came of it: statuses and bytes, no addresses. Calls
 * that the driver refuses are as good as those it obeys; both must be the same with the recorder inside. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
    "kernel void add(global int *a, int by) { a[get_global_id(0)] += by; }\n"
    "kernel void wide(global int *a, int16 v, local int *l) { l[0] = v.s3; a[get_global_id(0)] = l[0]; }\n"
    "kernel void through(global int *a) { a[get_global_id(0)] *= 2; }\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static int numbers[64], back[64];
static cl_event event;
static cl_int status;

#define DO(call) printf("%s %d\n", #call, (int)(call))
#define MAKE(variable, call) (variable = (call), printf("%s %s %d\n", #call, variable ? "made" : "nothing", (int)status), status = 0)

static unsigned sum(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    unsigned total = 5381;
    for (size_t i = 0; i < bytes; i++)
        total = total * 33 + at[i];
    return total;
}

static void show(const char *what, const void *data, size_t bytes)
{
    printf("%s %08x\n", what, sum(data, bytes));
}

static void read_back(cl_mem buffer)
{
    memset(back, 0, sizeof back);
    DO(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
    show("content", back, sizeof back);
}

static void platforms(void)
{
    char text[4096];
    cl_uint count = 0;
    size_t bytes = 0;
    DO(clGetPlatformIDs(1, &platform, &count));
    DO(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, &bytes));
    DO(clGetPlatformInfo(platform, 0x1234, sizeof text, text, &bytes));
    DO(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count));
    DO(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, &bytes));
    DO(clRetainDevice(device));
    DO(clReleaseDevice(device));
    cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
    cl_context other;
    MAKE(other, clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
    DO(clReleaseContext(other));
    MAKE(context, clCreateContext(properties, 1, &device, NULL, NULL, &status));
    DO(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof text, text, &bytes));
    DO(clRetainContext(context));
    DO(clReleaseContext(context));
    cl_ulong device_time, host_time;
    DO(clGetDeviceAndHostTimer(device, &device_time, &host_time));
    DO(clGetHostTimer(device, &host_time));
    void *function = clGetExtensionFunctionAddress("clNoSuchFunction");
    printf("%d\n", function == NULL);
    function = clGetExtensionFunctionAddressForPlatform(platform, "clNoSuchFunction");
    printf("%d\n", function == NULL);
}

static void parts_of_devices(void)
{
    cl_device_partition_property equally[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
    cl_device_id parts[64];
    cl_uint count = 0;
    DO(clCreateSubDevices(device, equally, 64, parts, &count));
    for (cl_uint i = 0; i < count && i < 64; i++)
        DO(clReleaseDevice(parts[i]));
}

static void queues(void)
{
    cl_command_queue other;
    char text[256];
    MAKE(other, clCreateCommandQueue(context, device, 0, &status));
    DO(clRetainCommandQueue(other));
    DO(clReleaseCommandQueue(other));
    DO(clGetCommandQueueInfo(other, CL_QUEUE_DEVICE, sizeof text, text, NULL));
    DO(clFlush(other));
    DO(clFinish(other));
    DO(clReleaseCommandQueue(other));
    cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
    MAKE(queue, clCreateCommandQueueWithProperties(context, device, properties, &status));
    DO(clSetDefaultDeviceCommandQueue(context, device, queue));
}

/* A callback comes from a thread of the driver: a second is enough on any machine. */
static void wait_for(volatile int *told)
{
    for (int i = 0; i < 1000 && !*told; i++)
        usleep(1000);
}

static void CL_CALLBACK gone(cl_mem memory, void *data)
{
    (void)memory;
    *(volatile int *)data = 1;
}

static void buffers(void)
{
    static volatile int was_told;
    cl_mem a, b, part;
    int pattern = 0x01020304;
    char text[256];
    MAKE(a, clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &status));
    MAKE(b, clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status));
    if (!b)
        MAKE(b, clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status));
    cl_buffer_region region = { 128, 64 };
    MAKE(part, clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    DO(clSetMemObjectDestructorCallback(a, gone, (void *)&was_told));
    DO(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, 32, numbers + 8, 0, NULL, &event));
    DO(clWaitForEvents(1, &event));
    DO(clEnqueueFillBuffer(queue, b, &pattern, sizeof pattern, 0, sizeof numbers, 0, NULL, NULL));
    DO(clEnqueueCopyBuffer(queue, a, b, 0, 64, 64, 1, &event, NULL));
    DO(clReleaseEvent(event));
    if (part)
        DO(clEnqueueFillBuffer(queue, part, &pattern, 2, 0, 64, 0, NULL, NULL));
    size_t zero[3] = { 0, 0, 0 }, row[3] = { 16, 4, 1 };
    DO(clEnqueueWriteBufferRect(queue, a, CL_TRUE, zero, zero, row, 32, 0, 16, 0, numbers, 0, NULL, NULL));
    DO(clEnqueueCopyBufferRect(queue, a, b, zero, zero, row, 32, 0, 32, 0, 0, NULL, NULL));
    DO(clEnqueueReadBufferRect(queue, b, CL_TRUE, zero, zero, row, 32, 0, 16, 0, back, 0, NULL, NULL));
    show("rect", back, 64);
    DO(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, 1 << 20, back, 0, NULL, NULL));
    void *at;
    MAKE(at, clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 128, 0, NULL, NULL, &status));
    memset(at, 7, 64);
    DO(clEnqueueUnmapMemObject(queue, b, at, 0, NULL, NULL));
    DO(clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, NULL, NULL));
    DO(clGetMemObjectInfo(b, CL_MEM_SIZE, sizeof text, text, NULL));
    read_back(a);
    read_back(b);
    DO(clRetainMemObject(b));
    DO(clReleaseMemObject(b));
    DO(clReleaseMemObject(b));
    if (part)
        DO(clReleaseMemObject(part));
    DO(clReleaseMemObject(a));
    DO(clFinish(queue));
    wait_for(&was_told);  // the last command may still hold a reference when its event is complete
    printf("told %d\n", was_told);
}

static void images(void)
{
    cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 }, formats[4];
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8 };
    size_t origin[3] = { 0, 0, 0 }, region[3] = { 8, 8, 1 }, pitch = 0;
    cl_uint color[4] = { 1, 2, 3, 4 }, count;
    cl_mem one, two, three, buffer;
    char text[256];
    DO(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count));
    MAKE(one, clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status));
    MAKE(two, clCreateImage2D(context, CL_MEM_READ_WRITE, &format, 8, 8, 0, NULL, &status));
    MAKE(three, clCreateImage3D(context, CL_MEM_READ_ONLY, &format, 4, 4, 4, 0, 0, NULL, &status));
    MAKE(buffer, clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status));
    if (!one || !two)
        return;
    DO(clEnqueueWriteImage(queue, one, CL_TRUE, origin, region, 0, 0, numbers, 0, NULL, NULL));
    DO(clEnqueueFillImage(queue, two, color, origin, region, 0, NULL, NULL));
    DO(clEnqueueReadImage(queue, two, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL));
    show("filled", back, sizeof back);
    DO(clEnqueueCopyImage(queue, one, two, origin, origin, region, 0, NULL, NULL));
    DO(clEnqueueCopyImageToBuffer(queue, two, buffer, origin, region, 0, 0, NULL, NULL));
    DO(clEnqueueCopyBufferToImage(queue, buffer, one, 0, origin, region, 0, NULL, NULL));
    DO(clEnqueueReadImage(queue, one, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL));
    show("copied", back, sizeof back);
    void *at;
    MAKE(at, clEnqueueMapImage(queue, one, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, 0, NULL, NULL, &status));
    DO(clEnqueueUnmapMemObject(queue, one, at, 0, NULL, NULL));
    DO(clFinish(queue));
    DO(clGetImageInfo(one, CL_IMAGE_WIDTH, sizeof text, text, NULL));
    DO(clReleaseMemObject(one));
    DO(clReleaseMemObject(two));
    if (three)
        DO(clReleaseMemObject(three));
    DO(clReleaseMemObject(buffer));
}

static void samplers(void)
{
    cl_sampler one, two;
    char text[64];
    cl_sampler_properties properties[] = { CL_SAMPLER_NORMALIZED_COORDS, CL_FALSE, 0 };
    MAKE(one, clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status));
    DO(clRetainSampler(one));
    DO(clReleaseSampler(one));
    DO(clGetSamplerInfo(one, CL_SAMPLER_FILTER_MODE, sizeof text, text, NULL));
    DO(clReleaseSampler(one));
    MAKE(two, clCreateSamplerWithProperties(context, properties, &status));
    if (two)
        DO(clReleaseSampler(two));
}

static void from_binary(void)
{
    size_t bytes = 0;
    cl_int each = 0;
    cl_program other;
    DO(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    unsigned char *binary = malloc(bytes + 1);
    DO(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    MAKE(other, clCreateProgramWithBinary(context, 1, &device, &bytes, (const unsigned char **)&binary, &each, &status));
    DO(clBuildProgram(other, 1, &device, NULL, NULL, NULL));
    cl_kernel kernel;
    MAKE(kernel, clCreateKernel(other, "add", &status));
    if (kernel)
        DO(clReleaseKernel(kernel));
    DO(clReleaseProgram(other));
    free(binary);
}

static void compile_and_link(void)
{
    const char *text = "int twice(int);\nkernel void k(global int *a) { a[0] = twice(a[0]); }", *header = "int twice(int);";
    const char *body = "#include \"h.h\"\nint twice(int x) { return 2 * x; }", *name = "h.h";
    cl_program one, two, include, linked;
    MAKE(one, clCreateProgramWithSource(context, 1, &text, NULL, &status));
    MAKE(two, clCreateProgramWithSource(context, 1, &body, NULL, &status));
    MAKE(include, clCreateProgramWithSource(context, 1, &header, NULL, &status));
    DO(clCompileProgram(one, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
    DO(clCompileProgram(two, 0, NULL, "-DX=1", 1, &include, &name, NULL, NULL));
    cl_program both[2] = { one, two };
    MAKE(linked, clLinkProgram(context, 1, &device, NULL, 2, both, NULL, NULL, &status));
    if (linked)
        DO(clReleaseProgram(linked));
    DO(clReleaseProgram(one));
    DO(clReleaseProgram(two));
    DO(clReleaseProgram(include));
}

static void programs(void)
{
    const char *pieces[2] = { source, "\nkernel void last(void) {}" }, *broken = "kernel void broken(";
    size_t lengths[2] = { sizeof source - 1, 0 };
    char text[4096] = "";
    size_t bytes = 0;
    cl_program other;
    MAKE(program, clCreateProgramWithSource(context, 2, pieces, lengths, &status));
    DO(clBuildProgram(program, 1, &device, "-DSOME=1", NULL, NULL));
    DO(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, &bytes));
    printf("options %zu \"%s\"\n", bytes, text);
    DO(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL));
    DO(clRetainProgram(program));
    DO(clReleaseProgram(program));
    MAKE(other, clCreateProgramWithSource(context, 1, &broken, NULL, &status));
    DO(clBuildProgram(other, 0, NULL, NULL, NULL, NULL));
    DO(clGetProgramBuildInfo(other, device, CL_PROGRAM_BUILD_STATUS, sizeof text, text, NULL));
    DO(clReleaseProgram(other));
    MAKE(other, clCreateProgramWithBuiltInKernels(context, 1, &device, "no.such.kernel", &status));
    MAKE(other, clCreateProgramWithIL(context, "not IL", 6, &status));
    from_binary();
    compile_and_link();
    DO(clUnloadPlatformCompiler(platform));
    DO(clUnloadCompiler());
}

static void CL_CALLBACK native(void *data)
{
    (void)data;
}

static void launch(cl_kernel kernel, cl_mem buffer)
{
    int by = 5, vector[16] = { 1, 2, 3, 4 };
    size_t global = 64, offset = 0, local = 8;
    char text[256];
    DO(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    DO(clSetKernelArg(kernel, 1, sizeof by, &by));
    DO(clSetKernelArg(kernel, 7, sizeof by, &by));
    DO(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &global, &local, 0, NULL, &event));
    DO(clEnqueueMarkerWithWaitList(queue, 1, &event, NULL));
    DO(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL));
    DO(clEnqueueBarrier(queue));
    DO(clFinish(queue));
    DO(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof text, text, NULL));
    DO(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof text, text, NULL));
    DO(clRetainEvent(event));
    DO(clReleaseEvent(event));
    DO(clReleaseEvent(event));
    DO(clEnqueueMarker(queue, &event));
    DO(clReleaseEvent(event));
    DO(clEnqueueTask(queue, kernel, 0, NULL, NULL));
    read_back(buffer);
    cl_kernel wide;
    MAKE(wide, clCreateKernel(program, "wide", &status));
    DO(clSetKernelArg(wide, 0, sizeof buffer, &buffer));
    DO(clSetKernelArg(wide, 1, sizeof vector, vector));
    DO(clSetKernelArg(wide, 2, 64, NULL));
    DO(clEnqueueNDRangeKernel(queue, wide, 1, NULL, &global, NULL, 0, NULL, NULL));
    read_back(buffer);
    DO(clReleaseKernel(wide));
}

static void kernels(void)
{
    cl_kernel kernel, all[8], copy;
    cl_mem buffer;
    cl_uint count = 0;
    char text[256];
    size_t local = 8;
    MAKE(buffer, clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof numbers, numbers, &status));
    MAKE(kernel, clCreateKernel(program, "add", &status));
    MAKE(copy, clCreateKernel(program, "none", &status));
    DO(clRetainKernel(kernel));
    DO(clReleaseKernel(kernel));
    DO(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof text, text, NULL));
    clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, sizeof text, text, NULL);  /* the recorder makes this known */
    DO(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof text, text, NULL));
    DO(clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof local, &local, sizeof text, text, NULL));
    launch(kernel, buffer);
    MAKE(copy, clCloneKernel(kernel, &status));
    if (copy)
        DO(clReleaseKernel(copy));
    DO(clCreateKernelsInProgram(program, 8, all, &count));
    for (cl_uint i = 0; i < count; i++)
        DO(clReleaseKernel(all[i]));
    int data = 1;
    DO(clEnqueueNativeKernel(queue, native, &data, sizeof data, 0, NULL, NULL, 0, NULL, NULL));
    DO(clFinish(queue));
    DO(clReleaseKernel(kernel));
    DO(clReleaseMemObject(buffer));
}

static volatile int callbacks;

static void CL_CALLBACK completed(cl_event which, cl_int how, void *data)
{
    (void)which, (void)how, (void)data;
    callbacks++;
}

static void events(void)
{
    cl_event user;
    cl_mem buffer;
    MAKE(buffer, clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status));
    MAKE(user, clCreateUserEvent(context, &status));
    DO(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof numbers, numbers, 1, &user, &event));
    DO(clSetEventCallback(event, CL_COMPLETE, completed, NULL));
    DO(clSetUserEventStatus(user, CL_COMPLETE));
    DO(clWaitForEvents(1, &event));
    wait_for(&callbacks);
    printf("callbacks %d\n", callbacks);
    DO(clReleaseEvent(event));
    DO(clReleaseEvent(user));
    DO(clReleaseMemObject(buffer));
}

static void shared_memory(void)
{
    char *svm, *other;
    int pattern = 9;
    size_t global = 16;
    cl_kernel kernel;
    MAKE(svm, clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0));
    MAKE(other, clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0));
    if (!svm || !other)
        return;
    DO(clEnqueueSVMMemFill(queue, svm, &pattern, sizeof pattern, 4096, 0, NULL, NULL));
    DO(clEnqueueSVMMemcpy(queue, CL_TRUE, other, svm, 4096, 0, NULL, NULL));
    DO(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, other, 4096, 0, NULL, NULL));
    show("svm", other, 4096);
    DO(clEnqueueSVMUnmap(queue, other, 0, NULL, NULL));
    MAKE(kernel, clCreateKernel(program, "through", &status));
    DO(clSetKernelArgSVMPointer(kernel, 0, other));
    DO(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof other, &other));
    DO(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    DO(clFinish(queue));
    show("svm", other, 4096);
    const void *list[1] = { other };
    DO(clEnqueueSVMMigrateMem(queue, 1, list, NULL, 0, 0, NULL, NULL));
    void *last[1] = { svm };
    DO(clEnqueueSVMFree(queue, 1, last, NULL, NULL, 0, NULL, NULL));
    DO(clFinish(queue));
    DO(clReleaseKernel(kernel));
    clSVMFree(context, other);
    puts("clSVMFree");
}

static void pipes(void)
{
    cl_mem pipe;
    char text[64];
    MAKE(pipe, clCreatePipe(context, CL_MEM_HOST_NO_ACCESS, 4, 16, NULL, &status));
    if (!pipe)
        return;
    DO(clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, sizeof text, text, NULL));
    DO(clReleaseMemObject(pipe));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 64; i++)
        numbers[i] = i * i;
    platforms();
    parts_of_devices();
    queues();
    buffers();
    images();
    samplers();
    programs();
    kernels();
    events();
    shared_memory();
    pipes();
    DO(clReleaseProgram(program));
    DO(clReleaseCommandQueue(queue));
    DO(clReleaseContext(context));
    return 0;
}
