/* What every OpenCL program here begins with: `prog MODE bug|twin`. The twin has the one edge that the bug lacks.
 *
 * A twin looks at its result and ends with 1 if that is wrong; what a bug computes is left to chance, but it crashes
 * nowhere. All buffers differ in size, so that a report that names the wrong one is seen to be wrong. */
#pragma once
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, BYTES = COUNT * 4, HALF = BYTES / 2 };
enum { X_BYTES = BYTES, Y_BYTES = BYTES + 1024, Z_BYTES = BYTES + 2048, W_BYTES = BYTES + 3072, ONES_BYTES = BYTES + 4096 };

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *out) {\n"
    "    int i = get_global_id(0);\n"
    "    out[i] = a[i] + b[i];\n"
    "}\n";

static bool twin;
static cl_context context;
static cl_device_id device;
static cl_kernel add_kernel;
static cl_command_queue a, b, c, loose;  /* in order, but for the last */
static cl_mem x, y, z, w, ones;          /* begin as 5, 7, 9, 11 and 1 */
static float in[COUNT], back[COUNT];     /* `in` is full of 2 */
static cl_mem result;                    /* where the outcome is, if not in y */
static float *host_result;               /* or in host memory */

static inline void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        printf("%s: %d\n", what, (int)status);
        exit(1);
    }
}
#define CHECK(call) check((call), #call)

/* Inlined, so that every launch has a call site of its own. */
static inline __attribute__((always_inline)) void add_some(cl_command_queue queue, cl_mem left, cl_mem right, cl_mem out,
                                                           size_t count, cl_uint waits, const cl_event *list, cl_event *event)
{
    CHECK(clSetKernelArg(add_kernel, 0, sizeof left, &left));
    CHECK(clSetKernelArg(add_kernel, 1, sizeof right, &right));
    CHECK(clSetKernelArg(add_kernel, 2, sizeof out, &out));
    CHECK(clEnqueueNDRangeKernel(queue, add_kernel, 1, NULL, &count, NULL, waits, waits ? list : NULL, event));
}

static inline __attribute__((always_inline)) void add(cl_command_queue queue, cl_mem left, cl_mem right, cl_mem out,
                                                      cl_uint waits, const cl_event *list, cl_event *event)
{
    add_some(queue, left, right, out, COUNT, waits, list, event);
}

static inline __attribute__((always_inline)) void fill(cl_command_queue queue, cl_mem mem, float value, cl_event *event)
{
    CHECK(clEnqueueFillBuffer(queue, mem, &value, sizeof value, 0, BYTES, 0, NULL, event));
}

static inline cl_mem buffer(size_t bytes, float value)
{
    cl_int status;
    float *values = malloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++)
        values[i] = value;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, values, &status);
    check(status, "clCreateBuffer");
    free(values);
    return made;
}

static inline cl_mem part(cl_mem whole, size_t from)
{
    cl_int status;
    cl_buffer_region region = { from, HALF };
    cl_mem made = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    return made;
}

static inline cl_command_queue make_queue(cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue made = clCreateCommandQueue(context, device, properties, &status);
    check(status, "clCreateCommandQueue");
    return made;
}

static inline void start(void)
{
    cl_platform_id platform;
    cl_int status;
    const char *text = source;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    a = make_queue(0), b = make_queue(0), c = make_queue(0);
    loose = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    add_kernel = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    CHECK(clReleaseProgram(program));
    x = buffer(X_BYTES, 5), y = buffer(Y_BYTES, 7), z = buffer(Z_BYTES, 9), w = buffer(W_BYTES, 11);
    ones = buffer(ONES_BYTES, 1);
    for (int i = 0; i < COUNT; i++)
        in[i] = 2;
}

static inline void finish_all(void)
{
    cl_command_queue all[] = { a, b, c, loose };
    for (int i = 0; i < 4; i++)
        CHECK(clFinish(all[i]));
}

static inline bool right(float want)
{
    static float values[COUNT];
    finish_all();
    if (!host_result)
        CHECK(clEnqueueReadBuffer(c, result ? result : y, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        if ((host_result ? host_result : values)[i] != want)
            return false;
    return true;
}

static inline void stop(void)
{
    cl_mem all[] = { x, y, z, w, ones };
    for (int i = 0; i < 5; i++)
        CHECK(clReleaseMemObject(all[i]));
    CHECK(clReleaseKernel(add_kernel));
    cl_command_queue queues[] = { a, b, c, loose };
    for (int i = 0; i < 4; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(context));
}

#include "planted_play.h"
