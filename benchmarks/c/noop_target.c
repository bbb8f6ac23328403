/* What one call costs when the driver does nothing: through the target's own table, or through the recorder's in front
 * of it. Prints "NAME nanoseconds-per-call" lines.
 *
 *     noop_target plain|recorded LAYER.so ROUNDS
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "enter_layer.h"

static cl_int set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    (void)kernel, (void)index, (void)size, (void)value;
    return CL_SUCCESS;
}

static cl_int enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
                      const size_t *local, cl_uint waits, const cl_event *list, cl_event *event)
{
    (void)queue, (void)kernel, (void)dims, (void)offset, (void)global, (void)local, (void)waits, (void)list, (void)event;
    return CL_SUCCESS;
}

static cl_kernel make_kernel(cl_program program, const char *name, cl_int *errcode)
{
    (void)program, (void)name;
    *errcode = CL_SUCCESS;
    return (cl_kernel)0x1234560;
}

static cl_int no_info(cl_kernel kernel, cl_kernel_info what, size_t room, void *value, size_t *value_size)
{
    (void)kernel, (void)what, (void)room, (void)value, (void)value_size;
    return CL_INVALID_VALUE;
}

/* Of the processor: others that run on the machine do not count. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { ARGUMENTS = 6 };

/* With values in `room`, which may be on the stack or on the heap: memory of the heap could go while another thread frees it. */
static double set_args(const struct cl_dispatch *table, cl_kernel kernel, int rounds, void **room)
{
    double begin = now_ns();
    for (int i = 0; i < rounds; i++) {
        *room = (void *)(size_t)(0x5000 + i);
        table->clSetKernelArg(kernel, (cl_uint)i % ARGUMENTS, sizeof *room, room);
    }
    return (now_ns() - begin) / rounds;
}

static double launches(const struct cl_dispatch *table, cl_kernel kernel, int rounds)
{
    cl_command_queue queue = (cl_command_queue)0x9000;
    const size_t global[2] = { 1024, 16 }, local[2] = { 64, 1 };
    double begin = now_ns();
    for (int i = 0; i < rounds; i++)
        table->clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL);
    return (now_ns() - begin) / rounds;
}

int main(int argc, char **argv)
{
    static struct cl_dispatch target = {
        .clSetKernelArg = set_arg, .clEnqueueNDRangeKernel = enqueue, .clCreateKernel = make_kernel,
        .clGetKernelInfo = no_info,
    };
    cl_int status;
    if (argc != 4)
        return 2;
    const struct cl_dispatch *table = strcmp(argv[1], "plain") ? enter_layer(argv[2], &target) : &target;
    int rounds = atoi(argv[3]);
    cl_kernel kernel = table->clCreateKernel(NULL, "none", &status);
    /* The first lap takes new chunks from the file system; what is measured is the long run. */
    void *on_stack, **on_heap = malloc(sizeof *on_heap);
    set_args(table, kernel, rounds, &on_stack);
    printf("clSetKernelArg %.2f\n", set_args(table, kernel, rounds, &on_stack));
    printf("clSetKernelArg-heap %.2f\n", set_args(table, kernel, rounds / 10, on_heap));
    launches(table, kernel, rounds);
    printf("clEnqueueNDRangeKernel %.2f\n", launches(table, kernel, rounds));
    return 0;
}
