//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: OpenCL keeps released objects until the commands that use them have finished."
#include "start.h"

static const char *source = "__kernel void plus(__global int *x, __global const int *y) { int i = get_global_id(0); x[i] += y[i]; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    size_t n = 2048;
    int one = 1, last = 0;
    cl_mem x = buffer(gpu, n * sizeof(int));
    must(clEnqueueFillBuffer(gpu.queue, x, &one, sizeof one, 0, n * sizeof(int), 0, NULL, NULL), "fill");
    for (int round = 0; round < 6; ++round) {
        cl_mem y = buffer(gpu, n * sizeof(int));
        cl_kernel plus = clCreateKernel(program, "plus", NULL);
        must(clEnqueueFillBuffer(gpu.queue, y, &round, sizeof round, 0, n * sizeof(int), 0, NULL, NULL), "fill");
        must(clSetKernelArg(plus, 0, sizeof x, &x), "x");
        must(clSetKernelArg(plus, 1, sizeof y, &y), "y");
        must(clEnqueueNDRangeKernel(gpu.queue, plus, 1, NULL, &n, NULL, 0, NULL, NULL), "plus");
        clReleaseKernel(plus);
        clReleaseMemObject(y);
    }
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, (n - 1) * sizeof(int), sizeof last, &last, 0, NULL, NULL), "read");
    printf("%d\n", last);
    return last == 16 ? 0 : 1;
}
