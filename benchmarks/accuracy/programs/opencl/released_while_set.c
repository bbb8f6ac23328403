//: class = "B2"
//: cause = ["released-while-bound", "use-of-released-object", "use-after-free"]
//: kernel = "copy_in"
//: launch = 1
//: argument = 0
//: plain = "sometimes"
//: fault = "The buffer is released after it was set as an argument and before the launch; arguments do not keep buffers."
#include "start.h"

static const char *source = "__kernel void copy_in(__global const int *from, __global int *to)\n"
                            "{ int i = get_global_id(0); to[i] = from[i] + 1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "copy_in", NULL);
    size_t n = 1 << 16;
    int forty = 40, last = 0;
    cl_mem from = buffer(gpu, n * sizeof(int)), to = buffer(gpu, n * sizeof(int));
    must(clEnqueueFillBuffer(gpu.queue, from, &forty, sizeof forty, 0, n * sizeof(int), 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(kernel, 0, sizeof from, &from), "from");
    must(clSetKernelArg(kernel, 1, sizeof to, &to), "to");
#ifndef TWIN
    must(clReleaseMemObject(from), "release"); // FAULT
#endif
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL), "copy_in");
#ifdef TWIN
    must(clReleaseMemObject(from), "release");
#endif
    must(clEnqueueReadBuffer(gpu.queue, to, CL_TRUE, (n - 1) * sizeof(int), sizeof last, &last, 0, NULL, NULL), "read");
    printf("%d\n", last);
    return last == 41 ? 0 : 1;
}
