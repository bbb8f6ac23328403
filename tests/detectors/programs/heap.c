/* Host memory from the heap that copies and buffers use: too small, large enough, freed early, kept; and two arguments of one type. */
#include "common.h"

static const char two[] = "kernel void blend(global const float *from, global const float *to, global float *out) {\n"
                          "    out[get_global_id(0)] = to[get_global_id(0)] - from[get_global_id(0)];\n}\n";

static int copies(void)
{
    float *host = malloc(is("short") ? BYTES / 2 : BYTES), *next = malloc(BYTES);
    memset(next, 0, BYTES);
    cl_mem memory = filled_buffer(BYTES);
    size_t bytes = is("part") ? BYTES / 4 : BYTES;
    check(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, bytes, host, 0, NULL, NULL), "clEnqueueReadBuffer");
    return 0;
}

static int wrapped(void)
{
    cl_int status;
    float *host = malloc(BYTES);
    memset(host, 0, BYTES);
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, BYTES, host, &status), out = filled_buffer(BYTES);
    check(status, "clCreateBuffer");
    if (is("freed"))
        free(host);
    cl_kernel copy = make_kernel("copy");
    set_mem(copy, 0, in);
    set_mem(copy, 1, out);
    set_int(copy, 2, COUNT);
    launch(copy, COUNT);
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(in);
    if (is("kept"))
        free(host);
    return 0;
}

static int sent(void)
{
    float *host = malloc(BYTES);
    memset(host, 0, BYTES);
    cl_mem memory = filled_buffer(BYTES);
    check(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, BYTES, host, 0, NULL, NULL), "clEnqueueWriteBuffer");
    if (is("sent, waited for"))
        check(clFinish(queue), "clFinish");
    free(host);
    check(clFinish(queue), "clFinish");
    return 0;
}

/* Fails unless something exchanges the two. */
static int exchanged(void)
{
    cl_int status;
    cl_kernel blend = clCreateKernel(build(two), "blend", &status);
    static float one[COUNT], result[COUNT];
    for (int i = 0; i < COUNT; i++)
        one[i] = 1;
    cl_mem zeros = filled_buffer(BYTES), ones = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, one, &status), out = filled_buffer(BYTES);
    float zero = 0;
    check(clEnqueueFillBuffer(queue, zeros, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
    set_mem(blend, 0, ones);
    set_mem(blend, 1, zeros);
    set_mem(blend, 2, out);
    launch(blend, COUNT);
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, BYTES, result, 0, NULL, NULL), "clEnqueueReadBuffer");
    return result[0] == 1 ? 0 : 1;
}

/* The offset is in elements: fails unless something multiplies it. */
static int offset(void)
{
    static float numbers[COUNT], part[64];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    cl_int status;
    cl_mem all = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, numbers, &status), some = filled_buffer(sizeof part);
    if (is("offset of a copy"))
        check(clEnqueueCopyBuffer(queue, all, some, 128, 0, sizeof part, 0, NULL, NULL), "clEnqueueCopyBuffer");
    check(clEnqueueReadBuffer(queue, is("offset of a copy") ? some : all, CL_TRUE, is("offset of a copy") ? 0 : 128, sizeof part, part, 0,
                              NULL, NULL), "clEnqueueReadBuffer");
    return part[0] == 128 ? 0 : 1;
}

/* A part of a frame, by the stride of its rows or by their width. */
static int rectangle(void)
{
    enum { STRIDE = 1280, WIDTH = 1200, HEIGHT = 200 };
    unsigned char *frame = calloc(HEIGHT, STRIDE);
    cl_mem memory = filled_buffer(400 * 80);
    size_t start[3] = { 0 }, from[3] = { 160, 30, 0 }, region[3] = { 400, 80, 1 };
    check(clEnqueueWriteBufferRect(queue, memory, CL_TRUE, start, from, region, 400, 0, is("pitch") ? WIDTH : STRIDE, 0, frame, 0, NULL, NULL),
          "clEnqueueWriteBufferRect");
    return 1;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (strstr(mode, "offset"))
        return offset();
    if (strstr(mode, "pitch"))
        return rectangle();
    if (is("exchanged"))
        return exchanged();
    if (is("freed") || is("kept"))
        return wrapped();
    if (is("sent") || is("sent, waited for"))
        return sent();
    return copies();
}
