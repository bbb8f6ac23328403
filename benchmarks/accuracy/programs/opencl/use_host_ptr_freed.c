//: class = "B2"
//: cause = ["use-after-free", "host-memory-changed-under-copy", "host-memory-freed-in-use"]
//: kernel = "sum_up"
//: launch = 1
//: argument = 0
//: plain = "sometimes"
//: fault = "The memory behind a CL_MEM_USE_HOST_PTR buffer is freed before the kernel that reads it."
#include "start.h"

static const char *source = "__kernel void sum_up(__global const int *x, __global long *out, int n)\n"
                            "{ long s = 0; for (int i = 0; i < n; ++i) s += x[i]; *out = s; }\n";

static cl_mem wrap(Gpu gpu, int n, int **host)
{
    cl_int status;
    *host = aligned_alloc(4096, n * sizeof(int));
    for (int i = 0; i < n; ++i) (*host)[i] = 2;
    cl_mem m = clCreateBuffer(gpu.context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, n * sizeof(int), *host, &status);
    must(status, "wrap");
    return m;
}

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "sum_up", NULL);
    int n = 1 << 20, *host;
    cl_long total = 0;
    cl_mem x = wrap(gpu, n, &host), out = buffer(gpu, sizeof total);
#ifndef TWIN
    free(host); // FAULT
#endif
    size_t one = 1;
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "x");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "out");
    must(clSetKernelArg(kernel, 2, sizeof n, &n), "n");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "sum_up");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof total, &total, 0, NULL, NULL), "read");
#ifdef TWIN
    clReleaseMemObject(x);
    free(host);
#endif
    printf("%ld\n", (long)total);
    return total == 2L * n ? 0 : 1;
}
