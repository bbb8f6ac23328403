/* Opens OpenCL, works, closes it and opens it again: reopened LOADER ROUNDS. In the last round an argument has the wrong size, unless the
 * third word is "right". */
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIND(name) __typeof__(name) *own_##name = (__typeof__(name) *)dlsym(library, #name)

static const char *source = "kernel void add(global int *a, int k) { a[get_global_id(0)] = k; }\n";

static int work(const char *loader, int wrong)
{
    void *library = dlopen(loader, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 9;
    FIND(clGetPlatformIDs);
    FIND(clGetDeviceIDs);
    FIND(clCreateContext);
    FIND(clCreateCommandQueue);
    FIND(clCreateProgramWithSource);
    FIND(clBuildProgram);
    FIND(clCreateKernel);
    FIND(clCreateBuffer);
    FIND(clSetKernelArg);
    FIND(clEnqueueNDRangeKernel);
    FIND(clFinish);
    FIND(clReleaseMemObject);
    FIND(clReleaseKernel);
    FIND(clReleaseProgram);
    FIND(clReleaseCommandQueue);
    FIND(clReleaseContext);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    const size_t count = 64;
    const long value = 7;
    if (own_clGetPlatformIDs(1, &platform, NULL) || own_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 8;
    cl_context context = own_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = own_clCreateCommandQueue(context, device, 0, &status);
    cl_program program = own_clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (own_clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 7;
    cl_kernel kernel = own_clCreateKernel(program, "add", &status);
    cl_mem buffer = own_clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof(cl_int), NULL, &status);
    own_clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    int failed = own_clSetKernelArg(kernel, 1, wrong ? sizeof value : sizeof(cl_int), &value) != CL_SUCCESS;
    if (!failed)
        failed = own_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL) != CL_SUCCESS;
    own_clFinish(queue);
    own_clReleaseMemObject(buffer);
    own_clReleaseKernel(kernel);
    own_clReleaseProgram(program);
    own_clReleaseCommandQueue(queue);
    own_clReleaseContext(context);
    dlclose(library);
    return failed;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 1, right = argc > 3 && strcmp(argv[3], "right") == 0, failed = 0;
    for (int i = 0; i < rounds; i++)
        failed |= work(argv[1], !right && i == rounds - 1);
    printf("%d rounds\n", rounds);
    return failed;
}
