/* Buffers that are written by work whose writes no call names: functions of the host, images over buffers, command buffers. Each is then
 * read by a kernel. Modes with "other" write another buffer in that way, so that the one that is read is not written. */
#include "common.h"

typedef struct command_buffer *command_buffer;
typedef cl_uint sync_point;
typedef command_buffer (*create_fn)(cl_uint, const cl_command_queue *, const uint64_t *, cl_int *);
typedef cl_int (*fill_fn)(command_buffer, cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const sync_point *,
                          sync_point *, void *);
typedef cl_int (*finalize_fn)(command_buffer);
typedef cl_int (*enqueue_fn)(cl_uint, cl_command_queue *, command_buffer, cl_uint, const cl_event *, cl_event *);

static void ones(void *at)
{
    for (int i = 0; i < COUNT / 2; i++)
        (*(float **)at)[i] = 1;
}

static void by_host_function(cl_mem buffer)
{
    float *at = NULL;
    const void *place = &at;
    check(clEnqueueNativeKernel(queue, ones, &at, sizeof at, 1, &buffer, &place, 0, NULL, NULL), "clEnqueueNativeKernel");
}

static void *function(const char *name)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    if (!found) {
        puts("missing");
        exit(0);
    }
    return found;
}

static void by_commands(cl_mem buffer)
{
    cl_int status;
    const float one = 1;
    create_fn create = (create_fn)function("clCreateCommandBufferKHR");
    fill_fn fill = (fill_fn)function("clCommandFillBufferKHR");
    finalize_fn finalize = (finalize_fn)function("clFinalizeCommandBufferKHR");
    enqueue_fn enqueue = (enqueue_fn)function("clEnqueueCommandBufferKHR");
    command_buffer commands = create(1, &queue, NULL, &status);
    check(status, "clCreateCommandBufferKHR");
    check(fill(commands, NULL, buffer, &one, sizeof one, 0, BYTES, 0, NULL, NULL, NULL), "clCommandFillBufferKHR");
    check(finalize(commands), "clFinalizeCommandBufferKHR");
    check(enqueue(0, NULL, commands, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
}

static void by_image(cl_mem buffer)
{
    cl_int status;
    const cl_image_format format = {CL_R, CL_FLOAT};
    cl_image_desc desc = {0};
    cl_program other = build("kernel void paint(write_only image1d_buffer_t to) {\n"
                             "    write_imagef(to, (int)get_global_id(0), (float4)(1));\n"
                             "}\n");
    cl_kernel paint = clCreateKernel(other, "paint", &status);
    check(status, "clCreateKernel");
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.image_width = COUNT;
    desc.buffer = buffer;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    check(status, "clCreateImage");
    set_mem(paint, 0, image);
    launch(paint, COUNT);
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(image);
}

int main(int argc, char **argv)
{
    const cl_buffer_region half = {0, BYTES / 2};
    cl_int status;
    start(argc, argv);
    cl_kernel copy = make_kernel("copy");
    cl_mem data = make_buffer(BYTES), out = make_buffer(BYTES), other = make_buffer(BYTES);
    if (is("native"))
        by_host_function(data);
    if (is("native part"))
        by_host_function(clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status));
    if (is("native other"))
        by_host_function(other);
    if (is("commands"))
        by_commands(data);
    if (is("image"))
        by_image(data);
    if (is("image other"))
        by_image(other);
    if (is("harmless function"))  /* makes no work, whatever it is */
        clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
    set_mem(copy, 0, data);
    set_mem(copy, 1, out);
    set_int(copy, 2, COUNT / 2);
    launch(copy, COUNT);
    read_back(out, BYTES / 4);
    return finish();
}
