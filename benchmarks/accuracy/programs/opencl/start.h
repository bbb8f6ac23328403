// What the C programs of this folder share: the first device of the first platform, a context, a queue, a built program.
#ifndef START_H
#define START_H
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
} Gpu;

static inline void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS) return;
    fprintf(stderr, "%s: error %d\n", what, status);
    exit(1);
}

static inline Gpu start(cl_command_queue_properties properties)
{
    Gpu gpu;
    cl_platform_id platform;
    cl_int status;
    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device, NULL), "device");
    gpu.context = clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &status);
    must(status, "context");
    gpu.queue = clCreateCommandQueue(gpu.context, gpu.device, properties, &status);
    must(status, "queue");
    return gpu;
}

static inline cl_program build(Gpu gpu, const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(gpu.context, 1, &source, NULL, &status);
    must(status, "program");
    if (clBuildProgram(program, 1, &gpu.device, "", NULL, NULL) != CL_SUCCESS) {
        char log[8192] = "";
        clGetProgramBuildInfo(program, gpu.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        exit(1);
    }
    return program;
}

static inline cl_mem buffer(Gpu gpu, size_t bytes)
{
    cl_int status;
    cl_mem m = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    must(status, "buffer");
    return m;
}
#endif
