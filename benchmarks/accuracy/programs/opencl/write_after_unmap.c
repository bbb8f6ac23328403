//: class = "B4"
//: group = "order"
//: cause = ["host-access-outside-buffer", "write-after-unmap", "host-memory-changed-under-copy", "host-access-during-kernel"]
//: call = ["clEnqueueUnmapMemObject", "clEnqueueNDRangeKernel"]
//: plain = "sometimes"
//: fault = "The host goes on writing through the mapped pointer after it was unmapped, while the kernel reads."
#include "start.h"

static const char *source =
    "__kernel void total(volatile __global const int *x, __global int *out, int n, int rounds)\n"
    "{ uint v = 2; for (int r = 0; r < rounds; ++r) v = v * 69069u + 1u;\n"
    "  int s = v == 0; for (int i = 0; i < n; ++i) s += x[i]; *out = s; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel total = clCreateKernel(build(gpu, source), "total", NULL);
    int n = 256, rounds = 50000000, sum = -1;
    size_t one = 1;
    cl_int status;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_ALLOC_HOST_PTR, n * sizeof(int), NULL, &status), out = buffer(gpu, 4);
    must(status, "x");
    int *p = clEnqueueMapBuffer(gpu.queue, x, CL_TRUE, CL_MAP_WRITE, 0, n * sizeof(int), 0, NULL, NULL, &status);
    must(status, "map");
    for (int i = 0; i < n; ++i) p[i] = 1;
    must(clEnqueueUnmapMemObject(gpu.queue, x, p, 0, NULL, NULL), "unmap");
    must(clSetKernelArg(total, 0, sizeof x, &x), "x");
    must(clSetKernelArg(total, 1, sizeof out, &out), "out");
    must(clSetKernelArg(total, 2, sizeof n, &n), "n");
    must(clSetKernelArg(total, 3, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, total, 1, NULL, &one, &one, 0, NULL, NULL), "total");
    must(clFlush(gpu.queue), "flush");
#ifndef TWIN
    for (int i = 0; i < n; ++i) ((volatile int *)p)[i] = 2; // FAULT
#endif
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL), "read");
    printf("%d\n", sum);
    return sum == 256 ? 0 : 1;
}
