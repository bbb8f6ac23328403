// Fails in one of two ways: a kernel writes past the end of its buffer (status 3), or one adds to one number without atomics (status 4).
// Without arguments, by lot. With the name of a file, which counts its runs, in turns; with "first", always in the first way.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 1000, STARTED = 1024 };
static const char *SOURCE = "__kernel void scale(__global int *x) { x[get_global_id(0)] = 7; }\n"
                            "__kernel void add(__global int *sum) { sum[0] += 3; }\n";

static void must(cl_int status)
{
    if (status != CL_SUCCESS) exit(9);
}

static int lot(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    srand48(now.tv_nsec);
    return drand48() < 0.5;
}

static int turn(const char *name)
{
    FILE *file = fopen(name, "a");
    if (!file) exit(9);
    fputc('.', file);
    long runs = ftell(file);
    fclose(file);
    return runs % 2;
}

int main(int count, char **words)
{
    int past_the_end = count > 1 ? !strcmp(words[1], "first") || turn(words[1]) : lot();
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    must(clGetPlatformIDs(1, &platform, NULL));
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, &status);
    must(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, past_the_end ? "scale" : "add", &status);
    static int zeros[COUNT];
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status);
    must(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    size_t started = past_the_end ? STARTED : COUNT;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &started, NULL, 0, NULL, NULL));
    must(clFinish(queue));
    printf("%s\n", past_the_end ? "the neighbour was overwritten" : "the sum is wrong");
    return past_the_end ? 3 : 4;
}
