/* Accesses outside of buffers, for runs with a fence. Each mode is a fault of its own; "right" is correct in all of it.
 * Kernels index with a number from the host, so that no compiler sees what they do. */
#include "common.h"

#include <pthread.h>
#include <stdint.h>

static const char kernels[] =
    "kernel void read_at(global float *out, global const float *in, long at) { out[0] = in[at]; }\n"
    "kernel void write_at(global float *other, global float *data, long at) { data[at] = other[0]; }\n"
    "kernel void write_byte(global uchar *data, long at) { data[at] = 7; }\n"
    "kernel void where(global ulong *out, global float *data) { out[0] = (ulong)data; }\n"
    "kernel void follow(global ulong *in) { *(global float *)in[0] = 1; }\n"
    "kernel void twice(global const float *in, global float *out) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = 2 * in[i];\n"
    "}\n";

static cl_mem small;

static void go(const char *name, cl_mem first, cl_mem second, cl_long at)
{
    cl_kernel kernel = make_kernel(name);
    set_mem(kernel, 0, first);
    set_mem(kernel, 1, second);
    set(kernel, 2, sizeof at, &at);
    launch(kernel, 1);
}

static void write_byte(cl_mem buffer, cl_long at)
{
    cl_kernel kernel = make_kernel("write_byte");
    set_mem(kernel, 0, buffer);
    set(kernel, 1, sizeof at, &at);
    launch(kernel, 1);
}

static void after_release(cl_mem data)
{
    cl_kernel where = make_kernel("where"), follow = make_kernel("follow");
    set_mem(where, 0, small);
    set_mem(where, 1, data);
    launch(where, 1);
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(data);
    set_mem(follow, 0, small);
    launch(follow, 1);
}

static cl_mem half_of(cl_mem data)
{
    cl_int status;
    cl_buffer_region region = { BYTES / 2, BYTES / 2 };
    cl_mem half = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    return half;
}

static void touch_mapped(cl_mem data, long at)
{
    cl_int status;
    float *room = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    ((volatile float *)room)[at] = 1;
    check(clEnqueueUnmapMemObject(queue, data, room, 0, NULL, NULL), "clEnqueueUnmapMemObject");
}

/* ---- everything at once, correct ---- */

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(2);
    }
}

static void ask_back(cl_mem buffer, cl_mem_flags flags, void *host)
{
    cl_mem_flags told = 0;
    void *pointer = &told;
    size_t size = 0;
    check(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof told, &told, NULL), "CL_MEM_FLAGS");
    check(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof pointer, &pointer, &size), "CL_MEM_HOST_PTR");
    expect(told == flags, "flags");
    expect(pointer == host && size == sizeof pointer, "host pointer");
}

static cl_mem with_flags(cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, flags, BYTES, host, &status);
    check(status, "clCreateBuffer");
    ask_back(made, flags, flags & CL_MEM_USE_HOST_PTR ? host : NULL);
    return made;
}

static void expect_twice(cl_mem in, cl_mem out, const float *was)
{
    float got[COUNT];
    cl_kernel kernel = make_kernel("twice");
    set_mem(kernel, 0, in);
    set_mem(kernel, 1, out);
    launch(kernel, COUNT);
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, BYTES, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        expect(got[i] == 2 * was[i], "content");
    clReleaseKernel(kernel);
}

static void refusals(void)
{
    cl_int status;
    float one = 1;
    clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &status);
    expect(status == CL_INVALID_BUFFER_SIZE, "size 0");
    clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 4, NULL, &status);
    expect(status == CL_INVALID_HOST_PTR, "no pointer");
    clCreateBuffer(context, CL_MEM_READ_WRITE, 4, &one, &status);
    expect(status == CL_INVALID_HOST_PTR, "pointer without its flag");
    clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, NULL, &status);
    expect(status == CL_INVALID_VALUE, "flags that exclude each other");
}

static void *right(void *nothing)
{
    static float own[COUNT] __attribute__((aligned(4096)));
    float was[COUNT];
    for (int i = 0; i < COUNT; i++)
        was[i] = (float)i;
    for (int round = 0; round < 20; round++) {
        cl_mem copied = with_flags(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, was);
        cl_mem both = with_flags(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, was);
        cl_mem out = with_flags(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, NULL), odd = make_buffer(1001);
        expect_twice(copied, out, was);
        expect_twice(both, out, was);
        touch_mapped(out, COUNT - 1);
        ask_back(half_of(out), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, NULL);
        write_byte(odd, 1000);
        check(clFinish(queue), "clFinish");
        clReleaseMemObject(copied);
        clReleaseMemObject(both);
        clReleaseMemObject(out);
        clReleaseMemObject(odd);
    }
    clReleaseMemObject(with_flags(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, own));
    refusals();
    return nothing;
}

static void in_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, right, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void *host_thread(void *address)
{
    *(volatile float *)address = 1;
    return NULL;
}

static void stale(cl_mem data)
{
    cl_int status;
    void *room = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    check(clEnqueueUnmapMemObject(queue, data, room, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(data);
    pthread_t thread;
    pthread_create(&thread, NULL, host_thread, room);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    open_device(argc, argv);
    program = build(kernels);
    cl_mem data = make_buffer(BYTES), slack = make_buffer(1001);
    small = make_buffer(128);
    if (is("read"))
        go("read_at", small, data, COUNT);
    else if (is("write"))
        go("write_at", small, data, COUNT);
    else if (is("page"))
        go("write_at", small, data, COUNT + 4096 / 4);
    else if (is("below"))
        go("write_at", small, data, -1);
    else if (is("released"))
        after_release(data);
    else if (is("sub-buffer"))
        go("write_at", small, half_of(data), COUNT / 2);
    else if (is("two")) {
        go("write_at", small, data, 0);
        go("write_at", small, data, COUNT);
    } else if (is("host"))
        touch_mapped(data, COUNT);
    else if (is("stale"))
        stale(data);
    else if (is("slack"))
        write_byte(slack, 1003);
    else if (is("under"))
        write_byte(slack, -2);
    else if (is("threads"))
        in_threads();
    else
        right(NULL);
    return finish();
}
