/* Sets arguments and launches `rounds` times; with the word "fault" it then passes a size for a buffer. What front_door.py runs. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

static const char *source =
    "__kernel void scale(__global float *x, float factor)\n"
    "{\n"
    "    x[get_global_id(0)] *= factor;\n"
    "}\n";

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    size_t n = 64, wrong = 4096;
    float factor = 2;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 3;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel scale = clCreateKernel(program, "scale", NULL);
    cl_mem x = clCreateBuffer(context, 0, 4096, NULL, NULL);
    for (int round = 0; round < rounds; round++) {
        clSetKernelArg(scale, 0, sizeof x, &x);
        clSetKernelArg(scale, 1, sizeof factor, &factor);
        clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 0, NULL, NULL);
        clFlush(queue);
    }
    clFinish(queue);
    if (argc > 2 && !strcmp(argv[2], "fault"))
        return clSetKernelArg(scale, 0, sizeof x, &wrong) != CL_SUCCESS;
    return 0;
}
