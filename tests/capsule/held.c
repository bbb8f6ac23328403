/* held COUNT: an out-of-order queue whose launches each wait for the one before; the first half of them is held by a user event, which the same
 * thread completes only then. */
#include <stdio.h>
#include <stdlib.h>

#include <CL/cl.h>

static const char *source = "kernel void add(global float *x, float y) { x[get_global_id(0)] += y; }\n";

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 100;
    const size_t size = 16;
    const cl_float one = 1;
    float back[16] = { 0 };
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 7;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (!queue || clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 6;
    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof back, back, &status);
    cl_kernel add = clCreateKernel(program, "add", &status);
    clSetKernelArg(add, 0, sizeof x, &x);
    clSetKernelArg(add, 1, sizeof one, &one);
    cl_event held = clCreateUserEvent(context, &status), before = held;
    for (int i = 0; i < count; i++) {
        cl_event event;
        if (clEnqueueNDRangeKernel(queue, add, 1, NULL, &size, NULL, 1, &before, &event))
            return 5;
        if (i == count / 2)
            clSetUserEventStatus(held, CL_COMPLETE);
        if (before != held)
            clReleaseEvent(before);
        before = event;
    }
    clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof back, back, 1, &before, NULL);
    printf("%g\n", back[7]);
    return back[7] != (float)count;
}
