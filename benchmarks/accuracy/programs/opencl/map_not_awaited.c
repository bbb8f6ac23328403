//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-read-before-copy-done", "unordered-access"]
//: call = "clEnqueueMapBuffer"
//: plain = "exit"
//: fault = "The pointer of a non-blocking map is read before the map has finished."
#include "start.h"

static const char *source =
    "__kernel void slow(__global int *x, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;\n"
    "  x[get_global_id(0)] = v == 5 ? 0 : 3; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel slow = clCreateKernel(build(gpu, source), "slow", NULL);
    int zero = 0, rounds = 6000000;
    size_t n = 32;
    cl_mem x = buffer(gpu, n * sizeof(int));
    must(clEnqueueFillBuffer(gpu.queue, x, &zero, sizeof zero, 0, n * sizeof(int), 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(slow, 0, sizeof x, &x), "x");
    must(clSetKernelArg(slow, 1, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, slow, 1, NULL, &n, &n, 0, NULL, NULL), "slow");
    cl_int status;
    cl_event mapped;
    int *p = clEnqueueMapBuffer(gpu.queue, x, CL_FALSE, CL_MAP_READ, 0, n * sizeof(int), 0, NULL, &mapped, &status);
    must(status, "map");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    must(clWaitForEvents(1, &mapped), "wait");
#endif
    int sum = 0;
    for (size_t i = 0; i < n; ++i) sum += ((volatile int *)p)[i]; // FAULT
    must(clWaitForEvents(1, &mapped), "wait");
    must(clEnqueueUnmapMemObject(gpu.queue, x, p, 0, NULL, NULL), "unmap");
    must(clFinish(gpu.queue), "finish");
    printf("%d\n", sum);
    return sum == 96 ? 0 : 1;
}
