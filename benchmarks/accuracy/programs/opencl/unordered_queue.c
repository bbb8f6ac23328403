//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["produce", "consume"]
//: other = ["produce", "consume"]
//: plain = "exit"
//: fault = "The queue is out of order and the consumer's wait list is empty."
#include "start.h"

static const char *source =
    "__kernel void produce(__global int *x, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;\n"
    "  x[get_global_id(0)] = v == 1 ? 6 : 7; }\n"
    "__kernel void consume(__global const int *x, __global int *y) { int i = get_global_id(0); y[i] = x[i] + 1; }\n";

int main(void)
{
    Gpu gpu = start(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = build(gpu, source);
    cl_kernel produce = clCreateKernel(program, "produce", NULL), consume = clCreateKernel(program, "consume", NULL);
    int zero = 0, rounds = 5000000, host[32], wrong = 0;
    size_t n = 32;
    cl_mem x = buffer(gpu, sizeof host), y = buffer(gpu, sizeof host);
    must(clEnqueueFillBuffer(gpu.queue, x, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(produce, 0, sizeof x, &x), "x");
    must(clSetKernelArg(produce, 1, sizeof rounds, &rounds), "rounds");
    must(clSetKernelArg(consume, 0, sizeof x, &x), "x");
    must(clSetKernelArg(consume, 1, sizeof y, &y), "y");
    cl_event produced;
    must(clEnqueueNDRangeKernel(gpu.queue, produce, 1, NULL, &n, &n, 0, NULL, &produced), "produce");
#ifdef TWIN
    must(clEnqueueNDRangeKernel(gpu.queue, consume, 1, NULL, &n, &n, 1, &produced, NULL), "consume");
#else
    must(clEnqueueNDRangeKernel(gpu.queue, consume, 1, NULL, &n, &n, 0, NULL, NULL), "consume"); // FAULT
#endif
    must(clFinish(gpu.queue), "finish");
    must(clEnqueueReadBuffer(gpu.queue, y, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    for (int i = 0; i < 32; ++i) wrong += host[i] != 8;
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
