// Fails every time, with status 1. A function launches mix(out, a, x, b, y) for its callers: with "site" the second of three passes its two
// factors in the wrong order; with "host" all are right, and what the program compares with is not.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 32 };
static const char *SOURCE = "__kernel void mix_in(__global float *out, __global const float *in, float keep, float add) {\n"
                            "    int i = get_global_id(0);\n"
                            "    out[i] = keep * out[i] + add * in[i];\n"
                            "}\n";
static cl_command_queue queue;
static cl_kernel kernel;

__attribute__((noinline)) static void mix_in(cl_mem out, cl_mem in, cl_float keep, cl_float add)
{
    size_t items = COUNT;
    clSetKernelArg(kernel, 0, sizeof out, &out);
    clSetKernelArg(kernel, 1, sizeof in, &in);
    clSetKernelArg(kernel, 2, sizeof keep, &keep);
    clSetKernelArg(kernel, 3, sizeof add, &add);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
}

int main(int count, char **words)
{
    int host = count > 1 && !strcmp(words[1], "host");
    static float in[COUNT], out[COUNT], want[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = i + 1, out[i] = want[i] = 2 * i + 3;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    kernel = clCreateKernel(program, "mix_in", NULL);
    cl_mem from = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof in, in, NULL);
    cl_mem to = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    for (int step = 0; step < 4; step++) {
        mix_in(to, from, 0.5f, 1.5f);
        if (host)
            mix_in(to, from, 0.25f, 0.75f);
        else
            mix_in(to, from, 0.75f, 0.25f); // the order
        mix_in(to, from, 0.8f, 0.35f);
        for (int i = 0; i < COUNT; i++)
            want[i] = 0.8f * (0.25f * (0.5f * want[i] + 1.5f * in[i]) + 0.75f * in[i]) + 0.35f * in[i] + (host ? 0.5f : 0);
    }
    clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += fabsf(out[i] - want[i]) > 1e-3f;
    printf("%d wrong\n", wrong);
    return wrong > 0;
}
