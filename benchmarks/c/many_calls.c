/* Makes about N recorded calls, most of them argument settings and small launches, as inference loops do. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFERS = 64, ARGS = 6 };

static const char *text =
    "__kernel void scale_step(__global float *y, __global const float *x, int n, int stride, float a, float b)\n"
    "{ int i = get_global_id(0); if (i < n) y[i] = a * x[i * stride] + b; }\n";

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s failed with %d\n", what, status);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 1000000;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "scale_step", &status);
    check(status, "clCreateKernel");
    cl_mem buffers[BUFFERS];
    float zeros[64] = { 0 };
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof zeros, NULL, &status);
        check(status, "clCreateBuffer");
        check(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL), "write");
    }
    size_t size = 1;
    for (long made = 0, i = 0; made < calls; made += ARGS + 1, i++) {
        int n = 1, stride = 1;
        float a = 1.5f, b = (float)(i & 255) + 0.5f;
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[i % BUFFERS]);
        clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[(i + 1) % BUFFERS]);
        clSetKernelArg(kernel, 2, sizeof n, &n);
        clSetKernelArg(kernel, 3, sizeof stride, &stride);
        clSetKernelArg(kernel, 4, sizeof a, &a);
        clSetKernelArg(kernel, 5, sizeof b, &b);
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        if (i % 256 == 255)
            check(clFinish(queue), "clFinish");
    }
    check(clFinish(queue), "clFinish");
    return 0;
}
