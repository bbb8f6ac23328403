//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander"]
//: kernel = "partial"
//: launch = 1
//: argument = 1
//: plain = "silent"
//: fault = "The number of partial results is rounded down, the number of groups is rounded up."
#include "start.h"

static const char *source = "__kernel void partial(__global const double *x, __global double *sums, int n)\n"
                            "{\n"
                            "    int g = get_group_id(0), first = g * 100, last = min(first + 100, n);\n"
                            "    double s = 0;\n"
                            "    for (int i = first; i < last; ++i) s += x[i];\n"
                            "    sums[g] = s;\n"
                            "}\n";

static double sum(Gpu gpu, cl_kernel kernel, cl_mem x, int n)
{
#ifdef TWIN
    int parts = (n + 99) / 100;
#else
    int parts = n / 100; // FAULT
#endif
    size_t groups = (n + 99) / 100, one = 1;
    cl_mem sums = buffer(gpu, parts * sizeof(double));
    double *host = malloc(parts * sizeof *host), total = 0;
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "x");
    must(clSetKernelArg(kernel, 1, sizeof sums, &sums), "sums");
    must(clSetKernelArg(kernel, 2, sizeof n, &n), "n");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &groups, &one, 0, NULL, NULL), "partial");
    must(clEnqueueReadBuffer(gpu.queue, sums, CL_TRUE, 0, parts * sizeof *host, host, 0, NULL, NULL), "read");
    for (int i = 0; i < parts; ++i) total += host[i];
    clReleaseMemObject(sums);
    free(host);
    return total;
}

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "partial", NULL);
    int n = 1650;
    double one = 1;
    cl_mem x = buffer(gpu, n * sizeof(double));
    must(clEnqueueFillBuffer(gpu.queue, x, &one, sizeof one, 0, n * sizeof(double), 0, NULL, NULL), "fill");
    printf("%g\n", sum(gpu, kernel, x, n));
    return 0;
}
