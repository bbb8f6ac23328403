//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy"]
//: call = "clEnqueueWriteBuffer"
//: plain = "exit"
//: fault = "The source of a non-blocking write is a local array of a function that has returned."
#include "start.h"

static const char *source = "__kernel void busy(__global int *x, int rounds)\n"
                            "{ uint v = 1; for (int r = 0; r < rounds; ++r) v = v * 134775813u + 1u; *x = v; }\n";

__attribute__((noinline)) static void send_coefficients(Gpu gpu, cl_mem to, int value)
{
    int coefficients[512];
    for (int i = 0; i < 512; ++i) coefficients[i] = value;
    must(clEnqueueWriteBuffer(gpu.queue, to, CL_FALSE, 0, sizeof coefficients, coefficients, 0, NULL, NULL), "write"); // FAULT
#ifdef TWIN
    must(clFinish(gpu.queue), "finish");
#else
    must(clFlush(gpu.queue), "flush");
#endif
}

__attribute__((noinline)) static int something_else(int seed)
{
    volatile int table[1024];
    int sum = 0;
    for (int i = 0; i < 1024; ++i) table[i] = seed + i;
    for (int i = 0; i < 1024; ++i) sum += table[i];
    return sum;
}

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel busy = clCreateKernel(build(gpu, source), "busy", NULL);
    int rounds = 60000000, back[512], wrong = 0;
    size_t one = 1;
    cl_mem scratch = buffer(gpu, 4), device = buffer(gpu, sizeof back);
    must(clSetKernelArg(busy, 0, sizeof scratch, &scratch), "scratch");
    must(clSetKernelArg(busy, 1, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, busy, 1, NULL, &one, &one, 0, NULL, NULL), "busy");
    send_coefficients(gpu, device, 13);
    int other = something_else(100);
    must(clEnqueueReadBuffer(gpu.queue, device, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL), "read");
    for (int i = 0; i < 512; ++i) wrong += back[i] != 13;
    printf("%s %d\n", wrong ? "damaged" : "intact", other);
    return wrong ? 1 : 0;
}
