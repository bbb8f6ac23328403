// Fails every time, with status 1. "quotient": a number that the kernel is passed is rounded down. "sum": nothing that it is passed is wrong.
// "abort": as "quotient", but a check of the program's own ends it.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100, BLOCK = 16 };
static const char *SOURCE = "__kernel void mean(__global const float *x, __global float *means, int count, int blocks) {\n"
                            "    float sum = 0;\n"
                            "    int b = get_global_id(0) % blocks;\n"
                            "    for (int i = b * 16; i < count && i < b * 16 + 16; i++) sum += x[i];\n"
                            "    means[get_global_id(0)] = sum / 16;\n"
                            "}\n";

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    static float x[COUNT], means[7];
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "mean", NULL);
    cl_mem in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof x, x, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof means, NULL, NULL);
    cl_int all = COUNT, blocks = strcmp(mode, "sum") ? COUNT / BLOCK : (COUNT + BLOCK - 1) / BLOCK;
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    clSetKernelArg(kernel, 2, sizeof all, &all);
    clSetKernelArg(kernel, 3, sizeof blocks, &blocks); // the number
    size_t items = 7;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof means, means, 0, NULL, NULL);
    float want = strcmp(mode, "sum") ? (96 + 97 + 98 + 99) / 16.0f : -1;
    printf("%g\n", means[6]);
    if (means[6] != want && !strcmp(mode, "abort")) abort();
    return means[6] == want ? 0 : 1;
}
