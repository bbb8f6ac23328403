//: class = "D1"
//: cause = ["argument-size", "failed-call", "ignored-error"]
//: kernel = "axpy"
//: call = "clSetKernelArg"
//: argument = 2
//: plain = "exit"
//: fault = "A size_t is given where the kernel has an int; the error is ignored and the launch fails."
#include "start.h"

static const char *source = "__kernel void axpy(__global float *y, float a, int n) { int i = get_global_id(0); if (i < n) y[i] += a; }\n";

#define SET(kernel, index, value) clSetKernelArg(kernel, index, sizeof(value), &(value))

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel axpy = clCreateKernel(build(gpu, source), "axpy", NULL);
#ifdef TWIN
    int count = 100;
#else
    size_t count = 100; // FAULT
#endif
    float a = 0.5f, zero = 0, last;
    cl_mem y = buffer(gpu, 100 * sizeof(float));
    clEnqueueFillBuffer(gpu.queue, y, &zero, sizeof zero, 0, 100 * sizeof(float), 0, NULL, NULL);
    SET(axpy, 0, y);
    SET(axpy, 1, a);
    SET(axpy, 2, count);
    size_t global = 128;
    must(clEnqueueNDRangeKernel(gpu.queue, axpy, 1, NULL, &global, NULL, 0, NULL, NULL), "launching axpy");
    must(clEnqueueReadBuffer(gpu.queue, y, CL_TRUE, 99 * sizeof(float), sizeof last, &last, 0, NULL, NULL), "read");
    printf("%g\n", last);
    return last == 0.5f ? 0 : 1;
}
