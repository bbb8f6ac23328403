/* Doubles the rows of a model on the device. Older builds, made with -DBEFORE_THE_PROBE, size the buffer with the rows that models
 * usually have, before they know those of this one. The sources were mended, and a probe was put in. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { USUAL_ROWS = 11008, ROWS = 14336 };

static const char source[] =
    "kernel void twice(global float *rows) { rows[get_global_id(0)] *= 2.0f; }\n";

static void stop_unless(cl_int status, const char *what, int exit_code)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, (int)status);
    exit(exit_code);
}

static void check(cl_int status, const char *what)
{
    stop_unless(status, what, 2);
}

static cl_kernel build(cl_context context, cl_device_id device)
{
    cl_int status;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "twice", &status);
    check(status, "clCreateKernel");
    return kernel;
}

static size_t buffer_rows(void)
{
#ifdef BEFORE_THE_PROBE
    return USUAL_ROWS;
#else
    printf("PROBE enter buffer_rows\n");
    return ROWS;
#endif
}

int main(void)
{
    static float rows[ROWS];
    cl_int status;
    cl_platform_id platform;
    cl_device_id device;
    size_t count = ROWS;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_kernel kernel = build(context, device);
    for (int i = 0; i < ROWS; i++)
        rows[i] = (float)i;

    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, buffer_rows() * sizeof *rows, NULL, &status);
    check(status, "clCreateBuffer");
    stop_unless(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof rows, rows, 0, NULL, NULL), "writing the model", 1);
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof rows, rows, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("last row: %.0f\n", rows[ROWS - 1]);
    return rows[ROWS - 1] == 2.0f * (ROWS - 1) ? 0 : 1;
}
