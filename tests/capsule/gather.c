/* One launch with a fault: `i <= n` lets one work-item write behind y. gather right: without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

static const char *const sources[] = {
    "float twice(float a) { return a * 2; }\n"
    "kernel void other(global float *a) { a[get_global_id(0)] = twice(3); }\n"
    "kernel void gather(global float *y, global const float *x, global const int *from, int n, global float *spare) {\n"
    "  int i = get_global_id(0);\n"
    "  float s = 0;\n"
    "  for (int k = 0; k < 4; k++)\n"
    "    s += x[min(i + k, n - 1)];\n"
    "  if (i <= n)\n"
    "    y[i] = s * x[from[i % n]];\n"
    "}\n",
};

int main(int argc, char **argv)
{
    enum { N = 20000 };
    static float x[N];
    static int from[N];
    char *text = strdup(sources[0]);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    int n = argc > 1 && !strcmp(argv[1], "right") ? N - 1 : N;
    size_t global = (N + 63) / 64 * 64 + 64, local = 64;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i * 7919 % 1000) / 3;
        from[i] = i * 104729 % N;
    }
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 7;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 6;
    cl_mem_flags copied = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem y = clCreateBuffer(context, copied, sizeof x, x, &status), in = clCreateBuffer(context, copied, sizeof x, x, &status);
    cl_mem index = clCreateBuffer(context, copied, sizeof from, from, &status);
    cl_mem spare = clCreateBuffer(context, copied, sizeof x, x, &status);
    cl_kernel k = clCreateKernel(program, "gather", &status);
    clSetKernelArg(k, 0, sizeof y, &y);
    clSetKernelArg(k, 1, sizeof in, &in);
    clSetKernelArg(k, 2, sizeof index, &index);
    clSetKernelArg(k, 3, sizeof n, &n);
    clSetKernelArg(k, 4, sizeof spare, &spare);
    status = clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, &local, 0, NULL, NULL);
    clFinish(queue);
    printf("%d\n", status);
    return 0;
}
