//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "use-after-free", "crash-outside-calls"]
//: call = "clEnqueueReadBuffer"
//: plain = "exit"
//: fault = "The destination of a non-blocking read is freed, and its place taken, before the read has run."
#include "start.h"

static const char *source =
    "__kernel void slow(__global int *x, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;\n"
    "  x[get_global_id(0)] = v == 9 ? 0 : -1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel slow = clCreateKernel(build(gpu, source), "slow", NULL);
    int rounds = 8000000, wrong = 0;
    size_t n = 16, bytes = n * sizeof(int);
    cl_mem x = buffer(gpu, bytes);
    must(clSetKernelArg(slow, 0, sizeof x, &x), "x");
    must(clSetKernelArg(slow, 1, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, slow, 1, NULL, &n, &n, 0, NULL, NULL), "slow");
    int *preview = malloc(bytes);
    must(clEnqueueReadBuffer(gpu.queue, x, CL_FALSE, 0, bytes, preview, 0, NULL, NULL), "preview");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    must(clFinish(gpu.queue), "finish");
#endif
    free(preview); // FAULT
    int *settings = malloc(bytes);
    for (size_t i = 0; i < n; ++i) settings[i] = 1;
    must(clFinish(gpu.queue), "finish");
    for (size_t i = 0; i < n; ++i) wrong += settings[i] != 1;
    puts(wrong ? "settings damaged" : "settings intact");
    return wrong ? 1 : 0;
}
