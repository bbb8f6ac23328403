//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "add"
//: launch = 1
//: plain = "silent"
//: fault = "The global size is rounded up to whole groups and the kernel does not compare its index with n."
#include "start.h"

static const char *source =
    "__kernel void add(__global const float *a, __global const float *b, __global float *c, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
#ifdef TWIN
    "    if (i < n)\n"
#endif
    "    c[i] = a[i] + b[i];\n" // FAULT
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel add = clCreateKernel(build(gpu, source), "add", NULL);
    int n = 1000;
    size_t bytes = n * sizeof(float), global = (n + 63) / 64 * 64, local = 64;
    float *host = malloc(bytes);
    for (int i = 0; i < n; ++i) host[i] = i;
    cl_mem a = buffer(gpu, bytes), b = buffer(gpu, bytes), c = buffer(gpu, bytes);
    must(clEnqueueWriteBuffer(gpu.queue, a, CL_TRUE, 0, bytes, host, 0, NULL, NULL), "write");
    must(clEnqueueWriteBuffer(gpu.queue, b, CL_TRUE, 0, bytes, host, 0, NULL, NULL), "write");
    clSetKernelArg(add, 0, sizeof a, &a);
    clSetKernelArg(add, 1, sizeof b, &b);
    clSetKernelArg(add, 2, sizeof c, &c);
    clSetKernelArg(add, 3, sizeof n, &n);
    must(clEnqueueNDRangeKernel(gpu.queue, add, 1, NULL, &global, &local, 0, NULL, NULL), "add");
    must(clEnqueueReadBuffer(gpu.queue, c, CL_TRUE, 0, bytes, host, 0, NULL, NULL), "read");
    printf("%g\n", host[n - 1]);
    return host[n - 1] == 2.0f * (n - 1) ? 0 : 1;
}
