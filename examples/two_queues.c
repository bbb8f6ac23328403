/* A race: one queue fills a buffer, another one reads it back, and nothing makes it wait.
 *
 *     cc -g -o two_queues examples/two_queues.c -lOpenCL && gpudx run -- ./two_queues
 *
 * With -DTWIN the read waits for the fill. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

enum { COUNT = 1 << 20 };
static cl_int values[COUNT];

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS)
        printf("%s: %d\n", call, status);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, seven = 7;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue fills = clCreateCommandQueue(context, device, 0, &status);
    cl_command_queue reads = clCreateCommandQueue(context, device, 0, &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, NULL, &status);
    cl_event filled;

    check(clEnqueueFillBuffer(fills, buffer, &seven, sizeof seven, 0, sizeof values, 0, NULL, &filled), "fill");
    clFlush(fills);
#ifdef TWIN
    check(clEnqueueReadBuffer(reads, buffer, CL_TRUE, 0, sizeof values, values, 1, &filled, NULL), "read");
#else
    check(clEnqueueReadBuffer(reads, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL), "read");
#endif
    clFinish(fills);
    printf("the last value is %d\n", values[COUNT - 1]);

    clReleaseEvent(filled);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(reads);
    clReleaseCommandQueue(fills);
    clReleaseContext(context);
    return 0;
}
