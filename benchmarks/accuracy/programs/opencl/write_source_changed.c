//: class = "B4"
//: cause = ["host-memory-changed-under-copy"]
//: call = "clEnqueueWriteBuffer"
//: plain = "exit"
//: fault = "The source of a non-blocking write is overwritten before the write has run."
#include "start.h"

static const char *source = "__kernel void work(__global int *x, int rounds)\n"
                            "{ int v = 1; for (int i = 0; i < rounds; ++i) v = v * 1664525 + 1013904223; x[get_global_id(0)] = v; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel work = clCreateKernel(build(gpu, source), "work", NULL);
    enum { N = 4096 };
    static int staging[N], back[N];
    int rounds = 30000000;
    size_t two = 2;
    cl_mem scratch = buffer(gpu, 64), x = buffer(gpu, sizeof staging);
    must(clSetKernelArg(work, 0, sizeof scratch, &scratch), "scratch");
    must(clSetKernelArg(work, 1, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, work, 1, NULL, &two, NULL, 0, NULL, NULL), "work");
    for (int i = 0; i < N; ++i) staging[i] = 11;
    must(clEnqueueWriteBuffer(gpu.queue, x, CL_FALSE, 0, sizeof staging, staging, 0, NULL, NULL), "write");
#ifdef TWIN
    must(clFinish(gpu.queue), "finish");
#else
    must(clFlush(gpu.queue), "flush");
#endif
    for (int i = 0; i < N; ++i) staging[i] = 22; // FAULT
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL), "read");
    int wrong = 0;
    for (int i = 0; i < N; ++i) wrong += back[i] != 11;
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
