/* Every call of the driver is made under one lock, and so is the table of kernels: the library calls itself thread-safe. But a
 * kernel object holds the arguments of its next launch, and the lock is given up between setting them and launching. */
#include "library.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "kernel void affine(global const float *in, global float *out, float scale, float shift) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * scale + shift;\n"
    "}\n";

static cl_device_id device;
static cl_context context;
static cl_program program;

/* First come, first served: with a plain mutex one thread kept the driver from all others. */
static struct {
    pthread_mutex_t guard;
    pthread_cond_t turn;
    unsigned long next, served;
} line = {.guard = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};

static void enter(void)
{
    pthread_mutex_lock(&line.guard);
    for (unsigned long mine = line.next++; mine != line.served;)
        pthread_cond_wait(&line.turn, &line.guard);
    pthread_mutex_unlock(&line.guard);
}

static void leave(void)
{
    pthread_mutex_lock(&line.guard);
    line.served++;
    pthread_cond_broadcast(&line.turn);
    pthread_mutex_unlock(&line.guard);
}

/* Buffers that nobody has released yet. */
#ifdef TWIN
static _Thread_local int live_buffers;
#else
static atomic_int live_buffers;
#endif

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, (int)status);
    exit(2);
}

void library_open(void)
{
    cl_int status;
    cl_platform_id platform;
    const char *text = source;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
}

static cl_kernel make_kernel(void)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, "affine", &status);
    check(status, "clCreateKernel");
    return kernel;
}

#ifdef TWIN
/* One kernel object for each thread. */
static _Thread_local cl_kernel cached;
#else
static cl_kernel cached;
#endif

static cl_kernel cached_kernel(void)
{
    if (!cached)
        cached = make_kernel();
    return cached;
}

void library_close(void)
{
#ifndef TWIN
    if (cached)
        check(clReleaseKernel(cached), "clReleaseKernel");
#endif
    check(clReleaseProgram(program), "clReleaseProgram");
    check(clReleaseContext(context), "clReleaseContext");
}

cl_command_queue library_queue(void)
{
    cl_int status;
    enter();
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    leave();
    check(status, "clCreateCommandQueue");
    return queue;
}

cl_mem library_buffer(size_t bytes)
{
    cl_int status;
    enter();
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    leave();
    check(status, "clCreateBuffer");
    live_buffers++;
    return buffer;
}

void library_release(cl_mem buffer)
{
    enter();
    check(clReleaseMemObject(buffer), "clReleaseMemObject");
    leave();
    live_buffers--;
}

int library_live_buffers(void)
{
    return live_buffers;
}

void library_write(cl_command_queue queue, cl_mem buffer, const void *from, size_t bytes)
{
    enter();
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, from, 0, NULL, NULL), "clEnqueueWriteBuffer");
    leave();
}

void library_copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes)
{
    enter();
    check(clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, NULL), "clEnqueueCopyBuffer");
    leave();
}

void library_read(cl_command_queue queue, cl_mem buffer, void *to, size_t bytes)
{
    enter();
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
    leave();
}

static void set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    enter();
    check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
    leave();
}

void library_affine(cl_command_queue queue, cl_mem in, cl_mem out, cl_float scale, cl_float shift)
{
    size_t count = COUNT;
    enter();
    cl_kernel kernel = cached_kernel();
    leave();
    set_argument(kernel, 0, sizeof in, &in);
    set_argument(kernel, 1, sizeof out, &out);
    set_argument(kernel, 2, sizeof scale, &scale);
    set_argument(kernel, 3, sizeof shift, &shift);
    enter();
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    leave();
}
