//: class = "H1"
//: cause = ["read-before-write"]
//: kernel = "count_flags"
//: launch = 2
//: argument = 0
//: plain = "sometimes"
//: fault = "The first kernel sets flags only where it finds something; the second counts all flags."
#include "start.h"

static const char *source =
    "__kernel void find(__global const int *x, __global int *flags)\n"
    "{ int i = get_global_id(0);\n"
#ifdef TWIN
    "  flags[i] = x[i] % 10 == 0; }\n"
#else
    "  if (x[i] % 10 == 0) flags[i] = 1; }\n" // FAULT
#endif
    "__kernel void count_flags(__global const int *flags, __global int *count, int n)\n"
    "{ int c = 0; for (int i = 0; i < n; ++i) c += flags[i] != 0; *count = c; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_kernel find = clCreateKernel(program, "find", NULL), count = clCreateKernel(program, "count_flags", NULL);
    enum { N = 1000 };
    int x[N], n = N, found = -1;
    for (int i = 0; i < N; ++i) x[i] = i;
    cl_mem in = buffer(gpu, sizeof x), flags = buffer(gpu, sizeof x), out = buffer(gpu, sizeof found);
    size_t global = N, one = 1;
    must(clEnqueueWriteBuffer(gpu.queue, in, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "write");
    must(clSetKernelArg(find, 0, sizeof in, &in), "x");
    must(clSetKernelArg(find, 1, sizeof flags, &flags), "flags");
    must(clSetKernelArg(count, 0, sizeof flags, &flags), "flags");
    must(clSetKernelArg(count, 1, sizeof out, &out), "count");
    must(clSetKernelArg(count, 2, sizeof n, &n), "n");
    must(clEnqueueNDRangeKernel(gpu.queue, find, 1, NULL, &global, NULL, 0, NULL, NULL), "find");
    must(clEnqueueNDRangeKernel(gpu.queue, count, 1, NULL, &one, NULL, 0, NULL, NULL), "count");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof found, &found, 0, NULL, NULL), "read");
    printf("%d\n", found);
    return found == 100 ? 0 : 1;
}
