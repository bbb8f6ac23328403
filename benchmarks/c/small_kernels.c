/* The loop that programs made of small kernels run: set the arguments, launch, and wait now and then. Prints seconds.
 *
 *     small_kernels LAUNCHES ITEMS BEFORE EVERY      BEFORE launches come before the clock starts; a wait after EVERY
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char source[] =
    "kernel void advance(global const float *in, global float *out, float by) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * by + 1.0f;\n"
    "}\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(cl_int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    int launches = argc > 1 ? atoi(argv[1]) : 20000;
    size_t items = argc > 2 ? (size_t)atol(argv[2]) : 1024;
    int before = argc > 3 ? atoi(argv[3]) : launches / 10, every = argc > 4 ? atoi(argv[4]) : 50;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    const char *text = source;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "advance", &status);
    check(status, "clCreateKernel");
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(float), NULL, &status);
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(float), NULL, &status);
    check(status, "clCreateBuffer");
    double begin = 0;
    for (int i = -before; i < launches; i++) {
        float by = (float)i;
        if (i == 0)
            begin = now();
        check(clSetKernelArg(kernel, 0, sizeof a, i & 1 ? &a : &b), "clSetKernelArg");
        check(clSetKernelArg(kernel, 1, sizeof b, i & 1 ? &b : &a), "clSetKernelArg");
        check(clSetKernelArg(kernel, 2, sizeof by, &by), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        if (i % every == 0)
            check(clFinish(queue), "clFinish");
    }
    check(clFinish(queue), "clFinish");
    printf("%.6f\n", now() - begin);
    return 0;
}
