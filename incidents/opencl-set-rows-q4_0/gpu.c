#include "gpu.h"

#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const kernel_names[KERNELS] = {
    [SET_ROWS_F32] = "set_rows_f32", [SET_ROWS_F16] = "set_rows_f16", [SET_ROWS_Q4_0] = "set_rows_q4_0",
    [SPLIT_Q4_0] = "split_q4_0",     [RESTORE_Q4_0] = "restore_q4_0", [COPY_BYTES] = "copy_bytes",
};

void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, (int)status);
    exit(2);
}

static cl_device_id first_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    return device;
}

static void print_build_log(const struct gpu *gpu)
{
    static char log[16384];
    if (clGetProgramBuildInfo(gpu->program, gpu->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL) == CL_SUCCESS)
        fprintf(stderr, "%s\n", log);
}

static void build_kernels(struct gpu *gpu)
{
    cl_int status;
    const char *source = kernel_source;
    gpu->program = clCreateProgramWithSource(gpu->context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    status = clBuildProgram(gpu->program, 1, &gpu->device, "-cl-std=CL1.2", NULL, NULL);
    if (status != CL_SUCCESS)
        print_build_log(gpu);
    check(status, "clBuildProgram");
    for (int i = 0; i < KERNELS; i++) {
        gpu->kernels[i] = clCreateKernel(gpu->program, kernel_names[i], &status);
        check(status, kernel_names[i]);
    }
}

void gpu_open(struct gpu *gpu)
{
    cl_int status;
    gpu->device = first_device();
    gpu->context = clCreateContext(NULL, 1, &gpu->device, NULL, NULL, &status);
    check(status, "clCreateContext");
    gpu->queue = clCreateCommandQueue(gpu->context, gpu->device, 0, &status);
    check(status, "clCreateCommandQueue");
    build_kernels(gpu);
}

void gpu_close(struct gpu *gpu)
{
    for (int i = 0; i < KERNELS; i++)
        check(clReleaseKernel(gpu->kernels[i]), "clReleaseKernel");
    check(clReleaseProgram(gpu->program), "clReleaseProgram");
    check(clReleaseCommandQueue(gpu->queue), "clReleaseCommandQueue");
    check(clReleaseContext(gpu->context), "clReleaseContext");
}

cl_mem gpu_buffer(struct gpu *gpu, size_t bytes, const void *contents)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "clCreateBuffer");
    if (contents)
        check(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, bytes, contents, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
    return buffer;
}

void gpu_set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

void gpu_launch(struct gpu *gpu, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local)
{
    check(clEnqueueNDRangeKernel(gpu->queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
}

void gpu_read(struct gpu *gpu, cl_mem buffer, void *to, size_t bytes)
{
    check(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}
