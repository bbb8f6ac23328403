//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-access-during-kernel"]
//: kernel = "average"
//: plain = "sometimes"
//: fault = "The host rewrites the memory behind a USE_HOST_PTR buffer, without a map, while a kernel reads it."
#include "start.h"

static const char *source =
    "__kernel void average(volatile __global const int *x, __global int *out, int n, int rounds)\n"
    "{ uint v = 5; for (int r = 0; r < rounds; ++r) v = v * 69069u + 3u;\n"
    "  int s = v == 0; for (int i = 0; i < n; ++i) s += x[i]; *out = s / n; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel average = clCreateKernel(build(gpu, source), "average", NULL);
    int n = 4096, rounds = 60000000, result = -1;
    int *samples = aligned_alloc(4096, n * sizeof(int));
    for (int i = 0; i < n; ++i) samples[i] = 10;
    cl_int status;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_USE_HOST_PTR, n * sizeof(int), samples, &status), out = buffer(gpu, 4);
    must(status, "x");
    size_t one = 1;
    must(clSetKernelArg(average, 0, sizeof x, &x), "x");
    must(clSetKernelArg(average, 1, sizeof out, &out), "out");
    must(clSetKernelArg(average, 2, sizeof n, &n), "n");
    must(clSetKernelArg(average, 3, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, average, 1, NULL, &one, &one, 0, NULL, NULL), "average");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    clEnqueueMapBuffer(gpu.queue, x, CL_TRUE, CL_MAP_WRITE, 0, n * sizeof(int), 0, NULL, NULL, &status);
    must(status, "map");
#endif
    for (int i = 0; i < n; ++i) samples[i] = 99; // FAULT
#ifdef TWIN
    must(clEnqueueUnmapMemObject(gpu.queue, x, samples, 0, NULL, NULL), "unmap");
#endif
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL), "read");
    printf("%d\n", result);
    clReleaseMemObject(x);
    free(samples);
    return result == 10 ? 0 : 1;
}
