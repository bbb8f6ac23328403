/* One access outside of a buffer, planted in a kernel whose elements are of the type that is asked for.
 *
 *     planted TYPE COUNT AT read|write|released        AT counts elements from the buffer's start
 *     planted buffers COUNT                            no fault: prints microseconds for making and releasing a buffer
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char source[] =
    "kernel void plant(global T *other, global T *data, long at, int writes) {\n"
    "    if (writes) data[at] = other[0]; else other[0] = data[at];\n"
    "}\n"
    "kernel void where(global ulong *out, global T *data) { out[0] = (ulong)data; }\n"
    "kernel void follow(global ulong *in, global T *other) { *(global T *)in[0] = other[1]; }\n";

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(2);
    }
}

static cl_mem buffer(size_t bytes)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "clCreateBuffer");
    return made;
}

static cl_kernel start(const char *name, cl_mem first, cl_mem second)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    check(clSetKernelArg(kernel, 0, sizeof first, &first), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof second, &second), "clSetKernelArg");
    return kernel;
}

static void launch(cl_kernel kernel)
{
    size_t one = 1;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
}

static void plant(cl_mem data, cl_long at, const char *how)
{
    cl_mem other = buffer(4096);
    if (!strcmp(how, "released")) {
        launch(start("where", other, data));
        clReleaseMemObject(data);
        launch(start("follow", other, buffer(4096)));
        return;
    }
    cl_int writes = !strcmp(how, "write");
    cl_kernel kernel = start("plant", other, data);
    check(clSetKernelArg(kernel, 2, sizeof at, &at), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof writes, &writes), "clSetKernelArg");
    launch(kernel);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Written before it is released: memory that nobody touches costs nothing anywhere. */
static void buffers(int count)
{
    double begin = now();
    for (int i = 0; i < count; i++) {
        cl_mem made = buffer(64 << 10);
        check(clEnqueueWriteBuffer(queue, made, CL_TRUE, 0, sizeof begin, &begin, 0, NULL, NULL), "clEnqueueWriteBuffer");
        clReleaseMemObject(made);
    }
    printf("%f\n", (now() - begin) / count * 1e6);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    const char *text = source;
    char options[64];
    if (argc < 3)
        return 2;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    if (argc == 3) {
        buffers(atoi(argv[2]));
        return 0;
    }
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    snprintf(options, sizeof options, "-DT=%s", argv[1]);
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
    unsigned width = 1;
    sscanf(argv[1], "%*[a-z]%u", &width);
    size_t base = !strncmp(argv[1], "char", 4) ? 1 : !strncmp(argv[1], "short", 5) ? 2
        : !strncmp(argv[1], "double", 6) || !strncmp(argv[1], "long", 4) ? 8 : 4;
    plant(buffer(strtoul(argv[2], NULL, 10) * base * width), atol(argv[3]), argv[4]);
    return 0;
}
