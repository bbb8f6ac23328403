/* What every program here begins with: a device, a queue and a few kernels. All programs build the same source, so that
 * the driver's cache has it after the first one. The first argument of a program says what it does; "right" is the
 * correct twin. */
#pragma once
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1024, BYTES = COUNT * 4 };

static const char source[] =
    "typedef struct { long first; int count; } range_t;\n"
    "typedef struct { float a, b, c, d; } four_t;\n"
    "kernel void copy(global const float *in, global float *out, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n) out[i] = in[i];\n"
    "}\n"
    "kernel void scale(global float *data, float factor, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n) data[i] *= factor;\n"
    "}\n"
    "kernel void values(global float *out, four_t four, range_t range, float3 xyz, long big, float x, double y) {\n"
    "    out[get_global_id(0)] = four.d + range.count + xyz.z + big + x + y;\n"
    "}\n"
    "kernel void shared_sum(global float *data, local float *room) {\n"
    "    room[get_local_id(0)] = data[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[get_global_id(0)] = room[0];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eight(global float *data) {\n"
    "    data[get_global_id(0)] = 8;\n"
    "}\n"
    "kernel void far_away(global int *data, ulong far) { data[far] = 1; }\n"
    "kernel void spin(global volatile int *flag) { while (!*flag) ; }\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static const char *mode = "";

static inline int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static inline void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, (int)status);
        exit(1);
    }
}

static inline void open_device(int argc, char **argv)
{
    cl_int status;
    mode = argc > 1 ? argv[1] : "";
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
}

static inline cl_program build(const char *text)
{
    cl_int status;
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(made, 1, &device, "", NULL, NULL), "clBuildProgram");
    return made;
}

static inline void start(int argc, char **argv)
{
    open_device(argc, argv);
    program = build(source);
}

static inline cl_kernel make_kernel(const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    return kernel;
}

static inline cl_mem make_buffer(size_t bytes)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "clCreateBuffer");
    return buffer;
}

/* A buffer with content. */
static inline cl_mem filled_buffer(size_t bytes)
{
    cl_mem buffer = make_buffer(bytes);
    float zero = 0;
    check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, bytes, 0, NULL, NULL), "clEnqueueFillBuffer");
    return buffer;
}

static inline void set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

static inline void set_mem(cl_kernel kernel, cl_uint index, cl_mem buffer)
{
    set(kernel, index, sizeof buffer, &buffer);
}

static inline void set_int(cl_kernel kernel, cl_uint index, cl_int value)
{
    set(kernel, index, sizeof value, &value);
}

static inline void set_float(cl_kernel kernel, cl_uint index, cl_float value)
{
    set(kernel, index, sizeof value, &value);
}

static inline void launch(cl_kernel kernel, size_t count)
{
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static inline void read_back(cl_mem buffer, size_t bytes)
{
    void *room = malloc(bytes);
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, room, 0, NULL, NULL), "clEnqueueReadBuffer");
    free(room);
}

static inline int finish(void)
{
    check(clFinish(queue), "clFinish");
    if (program)
        clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
