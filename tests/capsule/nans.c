/* nans EXPRESSION [TYPE]: eight launches, of which the fifth stores EXPRESSION of x, i and n. */
#include <stdio.h>

#include <CL/cl.h>

enum { N = 512 };

int main(int argc, char **argv)
{
    static char text[4096];
    static double host[N];
    const char *type = argc > 2 ? argv[2] : "float", *source = text;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    int n = N;
    size_t size = N;
    snprintf(text, sizeof text,
             "typedef %s real;\n"
             "kernel void first(global real *x, int n) { int i = get_global_id(0); x[i] = (real)i - 3; }\n"
             "kernel void scale(global real *y, global const real *x, int n) { int i = get_global_id(0); y[i] = x[i] * (real)0.5; }\n"
             "kernel void guilty(global real *y, global const real *in, int n) {\n"
             "  int i = get_global_id(0);\n"
             "  real x = in[i];\n"
             "  y[i] = %s;\n"
             "}\n", type, argc > 1 ? argv[1] : "x");
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 7;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 6;
    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, host, &status);
    cl_mem y = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, host, &status);
    static const char *const order[] = { "first", "scale", "scale", "scale", "guilty", "scale", "guilty", "scale" };
    for (int i = 0; i < 8; i++) {
        cl_kernel k = clCreateKernel(program, order[i], &status);
        if (!i) {
            clSetKernelArg(k, 0, sizeof x, &x);
            clSetKernelArg(k, 1, sizeof n, &n);
        } else {
            clSetKernelArg(k, 0, sizeof y, &y);
            clSetKernelArg(k, 1, sizeof x, &x);
            clSetKernelArg(k, 2, sizeof n, &n);
        }
        if (clEnqueueNDRangeKernel(queue, k, 1, NULL, &size, NULL, 0, NULL, NULL))
            return 5;
        clReleaseKernel(k);
    }
    clFinish(queue);
    return 0;
}
