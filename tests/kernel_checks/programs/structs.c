/* A struct that host and kernel declare. "vectors": the host has arrays in place of vectors, "same": the layouts agree and the program is
 * right, "short": they agree, but the buffer is too small. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static const char *source =
    "struct light { float3 at; float radius; float3 color; float gain; };\n"
    "typedef struct { float4 low; float4 high; } Box;\n"
    "kernel void shade(global const struct light *lights, global float *out, int count) {\n"
    "  float sum = 0;\n"
    "  for (int i = 0; i < count; i++) sum += lights[i].gain;\n"
    "  out[get_global_id(0)] = sum;\n"
    "}\n"
    "kernel void clip(global const Box *boxes, global float *out, int count) {\n"
    "  float sum = 0;\n"
    "  for (int i = 0; i < count; i++) sum += boxes[i].high.w;\n"
    "  out[get_global_id(0)] = sum;\n"
    "}\n";

struct light { float at[3]; float radius; float color[3]; float gain; };
typedef struct { float low[4]; float high[4]; } Box;

int main(int argc, char **argv)
{
    static struct light lights[20];
    static Box boxes[20];
    int arrays = argc > 1 && strcmp(argv[1], "vectors") == 0, little = argc > 1 && strcmp(argv[1], "short") == 0;
    size_t bytes = arrays ? 20 * sizeof(struct light) : (little ? 10 : 20) * sizeof(Box), items = 16;
    int count = 20;
    float out[16];
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 2;
    cl_kernel kernel = clCreateKernel(program, arrays ? "shade" : "clip", NULL);
    cl_mem from = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                                 arrays ? (void *)lights : boxes, NULL);
    cl_mem to = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof out, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof from, &from);
    clSetKernelArg(kernel, 1, sizeof to, &to);
    clSetKernelArg(kernel, 2, sizeof count, &count);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    return clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL) ? 3 : 0;
}
