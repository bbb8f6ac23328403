/* The few API calls every program here makes. */
#pragma once
#define _GNU_SOURCE
#include <CL/cl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cl_program gpu_program;
static cl_kernel gpu_kernel;

static inline void gpu_open(void)
{
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    const char *text = "kernel void fake_kernel(int a) {}";
    gpu_program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    gpu_kernel = clCreateKernel(gpu_program, "fake_kernel", NULL);
}

/* `count` calls that set argument `index` to 1, 2, 3... */
static inline void gpu_calls(unsigned index, long count)
{
    for (long i = 1; i <= count; i++)
        clSetKernelArg(gpu_kernel, index, sizeof i, &i);
}

static inline long number(int argc, char **argv, int at, long otherwise)
{
    return argc > at ? atol(argv[at]) : otherwise;
}

static inline int is(int argc, char **argv, const char *mode)
{
    return argc > 1 && !strcmp(argv[1], mode);
}
