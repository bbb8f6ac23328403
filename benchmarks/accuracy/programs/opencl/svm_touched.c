//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-access-during-kernel"]
//: kernel = "weigh"
//: plain = "sometimes"
//: fault = "The host rewrites shared virtual memory while a kernel is still reading it."
#define CL_TARGET_OPENCL_VERSION 200
#include "start.h"

static const char *source =
    "__kernel void weigh(volatile __global const int *x, __global int *out, int n, int rounds)\n"
    "{ uint v = 11; for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;\n"
    "  int s = v == 0; for (int i = 0; i < n; ++i) s += x[i]; *out = s; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel weigh = clCreateKernel(build(gpu, source), "weigh", NULL);
    int n = 512, rounds = 60000000, sum = -1;
    size_t bytes = n * sizeof(int), one = 1;
    int *shared = clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, bytes, 0);
    if (!shared) return 77;
    cl_mem out = buffer(gpu, sizeof sum);
    must(clEnqueueSVMMap(gpu.queue, CL_TRUE, CL_MAP_WRITE, shared, bytes, 0, NULL, NULL), "map");
    for (int i = 0; i < n; ++i) shared[i] = 2;
    must(clEnqueueSVMUnmap(gpu.queue, shared, 0, NULL, NULL), "unmap");
    must(clSetKernelArgSVMPointer(weigh, 0, shared), "x");
    must(clSetKernelArg(weigh, 1, sizeof out, &out), "out");
    must(clSetKernelArg(weigh, 2, sizeof n, &n), "n");
    must(clSetKernelArg(weigh, 3, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, weigh, 1, NULL, &one, NULL, 0, NULL, NULL), "weigh");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    must(clEnqueueSVMMap(gpu.queue, CL_TRUE, CL_MAP_WRITE, shared, bytes, 0, NULL, NULL), "map");
    for (int i = 0; i < n; ++i) shared[i] = 0;
    must(clEnqueueSVMUnmap(gpu.queue, shared, 0, NULL, NULL), "unmap");
#else
    for (int i = 0; i < n; ++i) ((volatile int *)shared)[i] = 0; // FAULT
#endif
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL), "read");
    printf("%d\n", sum);
    must(clFinish(gpu.queue), "finish");
    clSVMFree(gpu.context, shared);
    return sum == 1024 ? 0 : 1;
}
