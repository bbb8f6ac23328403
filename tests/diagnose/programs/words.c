// Fails every time, with status 1. "pitch": a kernel stores with the wrong one of two lengths, inside its buffer. "host": what the program
// compares with is wrong, and no word of the kernel.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 5, HEIGHT = 3, PITCH = 8 };
static const char *SOURCE = "__kernel void copy(__global const float *in, __global float *out, int width, int pitch) {\n"
                            "    int x = get_global_id(0), y = get_global_id(1);\n"
                            "    out[y * width + x] = in[y * pitch + x];\n" // the word
                            "}\n";
static const char *RIGHT = "__kernel void copy(__global const float *in, __global float *out, int width, int pitch) {\n"
                           "    int x = get_global_id(0), y = get_global_id(1);\n"
                           "    out[y * pitch + x] = in[y * pitch + x];\n"
                           "}\n";

int main(int count, char **words)
{
    int host = count > 1 && !strcmp(words[1], "host");
    static float in[PITCH * HEIGHT], out[PITCH * HEIGHT];
    for (int i = 0; i < PITCH * HEIGHT; i++)
        in[i] = i;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, host ? &RIGHT : &SOURCE, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "copy", NULL);
    cl_mem from = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof in, in, NULL);
    cl_mem to = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    cl_int width = WIDTH, pitch = PITCH;
    clSetKernelArg(kernel, 0, sizeof from, &from);
    clSetKernelArg(kernel, 1, sizeof to, &to);
    clSetKernelArg(kernel, 2, sizeof width, &width);
    clSetKernelArg(kernel, 3, sizeof pitch, &pitch);
    size_t items[2] = {WIDTH, HEIGHT};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, items, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            wrong += out[y * PITCH + x] != in[y * PITCH + x] + (host ? 0.5f : 0);
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
