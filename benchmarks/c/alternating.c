/* The loop that programs made of small kernels run (set the arguments, launch, wait now and then) in turns of BLOCK
 * launches, through the driver's own table and through another in front of it: one process, one queue, the same memory
 * and threads. Prints "plain other", microseconds per launch, for each pair of turns.
 *
 *     alternating OTHER PAIRS BLOCK ITEMS BEFORE EVERY    BEFORE launches of the other way come first; a wait after EVERY
 *
 * OTHER is the recorder's library, or a number: then each call is preceded by a pause of so many nanoseconds and nothing
 * is recorded. That shows what a loop makes of any delay at all. */
#define _GNU_SOURCE
#include <time.h>

#include "enter_layer.h"

static const char source[] =
    "kernel void advance(global const float *in, global float *out, float by) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * by + 1.0f;\n"
    "}\n";

cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);  /* the one call that goes through the loader */

static struct { cl_command_queue queue; cl_kernel kernel; cl_mem a, b; size_t items; int every; } work;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void check(cl_int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(2);
    }
}

/* The table that the driver put into each of its objects (cl_khr_icd, "ICD Compatible Objects"). */
static const struct cl_dispatch *driver_table(cl_platform_id *platform)
{
    check(clGetPlatformIDs(1, platform, NULL), "clGetPlatformIDs");
    return *(const struct cl_dispatch **)*platform;
}

static struct cl_dispatch driver;
static double pause_us;

static void pause_a_little(void)
{
    double begin = now_us();
    while (now_us() - begin < pause_us)
        ;
}

static cl_int late_set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    pause_a_little();
    return driver.clSetKernelArg(kernel, index, size, value);
}

static cl_int late_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
                          const size_t *local, cl_uint waits, const cl_event *list, cl_event *event)
{
    pause_a_little();
    return driver.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, list, event);
}

static cl_int late_finish(cl_command_queue queue)
{
    pause_a_little();
    return driver.clFinish(queue);
}

static const struct cl_dispatch *other_table(const char *what, const struct cl_dispatch *plain)
{
    static struct cl_dispatch late;
    char *end;
    pause_us = strtod(what, &end) * 1e-3;
    if (*end)
        return enter_layer(what, plain);
    driver = late = *plain;
    late.clSetKernelArg = late_set_arg;
    late.clEnqueueNDRangeKernel = late_launch;
    late.clFinish = late_finish;
    return &late;
}

static void set_up(const struct cl_dispatch *cl, cl_platform_id platform)
{
    cl_device_id device;
    cl_int status;
    const char *text = source;
    check(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    work.queue = cl->clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = cl->clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(cl->clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    work.kernel = cl->clCreateKernel(program, "advance", &status);
    check(status, "clCreateKernel");
    work.a = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, work.items * sizeof(float), NULL, &status);
    work.b = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, work.items * sizeof(float), NULL, &status);
    check(status, "clCreateBuffer");
}

/* Microseconds per launch. */
static double turn(const struct cl_dispatch *cl, int launches)
{
    double begin = now_us();
    for (int i = 1; i <= launches; i++) {
        float by = (float)i;
        check(cl->clSetKernelArg(work.kernel, 0, sizeof work.a, i & 1 ? &work.a : &work.b), "clSetKernelArg");
        check(cl->clSetKernelArg(work.kernel, 1, sizeof work.b, i & 1 ? &work.b : &work.a), "clSetKernelArg");
        check(cl->clSetKernelArg(work.kernel, 2, sizeof by, &by), "clSetKernelArg");
        check(cl->clEnqueueNDRangeKernel(work.queue, work.kernel, 1, NULL, &work.items, NULL, 0, NULL, NULL), "launch");
        if (i % work.every == 0)
            check(cl->clFinish(work.queue), "clFinish");
    }
    check(cl->clFinish(work.queue), "clFinish");
    return (now_us() - begin) / launches;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    if (argc != 7)
        return 2;
    int pairs = atoi(argv[2]), block = atoi(argv[3]);
    work.items = (size_t)atol(argv[4]);
    work.every = atoi(argv[6]);
    const struct cl_dispatch *plain = driver_table(&platform), *other = other_table(argv[1], plain);
    set_up(other, platform);
    turn(other, atoi(argv[5]));
    for (int i = 0; i < pairs; i++) {
        /* There and back, so that neither always comes after the other. */
        double first = turn(i & 1 ? other : plain, block), second = turn(i & 1 ? plain : other, block);
        printf("%.4f %.4f\n", i & 1 ? second : first, i & 1 ? first : second);
    }
    return 0;
}
