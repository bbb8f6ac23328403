/* Objects used after their last reference was dropped, and objects that others still hold. */
#include "common.h"

static void use_context(void)
{
    cl_int status;
    clReleaseContext(context);  /* the queue holds it */
    clReleaseProgram(program);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    check(status, "clCreateBuffer");
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    exit(0);
}

/* A kernel holds its program, which can be requested and used. */
static void use_program(cl_kernel kernel)
{
    cl_program again;
    cl_int status;
    clReleaseProgram(program);
    check(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof again, &again, NULL), "clGetKernelInfo");
    cl_kernel second = clCreateKernel(again, "copy", &status);
    check(status, "clCreateKernel");
    clReleaseKernel(second);
    clReleaseKernel(kernel);
    program = NULL;
}

static void use_parent(cl_mem buffer)
{
    cl_int status;
    cl_buffer_region region = {0, BYTES / 2};
    cl_mem half = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    clReleaseMemObject(buffer);
    read_back(buffer, BYTES);  /* the sub-buffer holds it */
    clReleaseMemObject(half);
}

static void use_retained(cl_mem buffer)
{
    check(clRetainMemObject(buffer), "clRetainMemObject");
    clReleaseMemObject(buffer);
    read_back(buffer, BYTES);
    clReleaseMemObject(buffer);
}

int main(int argc, char **argv)
{
    char room[BYTES] = {0};
    start(argc, argv);
    cl_kernel kernel = make_kernel("copy");
    cl_mem buffer = filled_buffer(BYTES);
    check(clFinish(queue), "clFinish");
    if (is("context"))
        use_context();
    if (is("program"))
        use_program(kernel);
    if (is("parent"))
        use_parent(buffer);
    if (is("retained"))
        use_retained(buffer);
    if (is("buffer")) {
        clReleaseMemObject(buffer);
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, room, 0, NULL, NULL);
    }
    if (is("kernel")) {
        clReleaseKernel(kernel);
        clSetKernelArg(kernel, 2, sizeof(cl_int), room);
    }
    if (is("twice")) {
        clReleaseKernel(kernel);
        clReleaseKernel(kernel);
    }
    return is("program") ? finish() : 0;
}
