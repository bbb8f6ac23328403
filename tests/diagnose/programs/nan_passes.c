// Fails every time, with status 1: a factor is missing, which no small change gives back. With `-` in place of `+` all results are NaN, and the
// check lets them pass: fmax() returns the other one of its two numbers. The word says how results are read: "read", "later" or "map".
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 64 };
static const char *SOURCE = "__kernel void root(__global const float *in, __global float *out) {\n"
                            "    int i = get_global_id(0);\n"
                            "    out[i] = rsqrt(in[i] * in[i] + 2.5f);\n"
                            "}\n";

int main(int count, char **words)
{
    static float in[COUNT], out[COUNT], *seen = out;
    const char *way = count > 1 ? words[1] : "read";
    for (int i = 0; i < COUNT; i++)
        in[i] = i / 64.0f;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "root", NULL);
    cl_mem from = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof in, in, NULL);
    cl_mem to = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    clSetKernelArg(kernel, 0, sizeof from, &from);
    clSetKernelArg(kernel, 1, sizeof to, &to);
    size_t items = COUNT;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    if (!strcmp(way, "map"))
        seen = clEnqueueMapBuffer(queue, to, CL_TRUE, CL_MAP_READ, 0, sizeof out, 0, NULL, NULL, NULL);
    else
        clEnqueueReadBuffer(queue, to, !strcmp(way, "read"), 0, sizeof out, out, 0, NULL, NULL);
    clFinish(queue);
    double worst = 0;
    for (int i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs(seen[i] - 3 / sqrt(in[i] * in[i] + 2.5)));
    printf("deviation %g\n", worst);
    return worst > 1e-4;
}
