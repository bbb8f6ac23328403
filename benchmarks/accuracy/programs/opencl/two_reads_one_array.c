//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "unordered-access"]
//: call = "clEnqueueReadBuffer"
//: plain = "exit"
//: fault = "Two queues read into the same host array; the slower read lands on top of the other's result."
#include "start.h"

static const char *source =
    "__kernel void make(__global int *x, int value, int rounds)\n"
    "{ uint v = 1; for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u; x[get_global_id(0)] = v == 0 ? 0 : value; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue second = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "second queue");
    cl_program program = build(gpu, source);
    int slow_result[8] = {0}, quick_result[8] = {0};
    cl_command_queue queues[2] = {gpu.queue, second};
#ifdef TWIN
    int *into[2] = {slow_result, quick_result};
#else
    int *into[2] = {quick_result, quick_result}; // FAULT
#endif
    size_t n = 8;
    for (int i = 0; i < 2; ++i) {
        cl_kernel make = clCreateKernel(program, "make", NULL);
        cl_mem x = buffer(gpu, 32);
        int value = i + 1, rounds = i ? 10 : 15000000;
        must(clSetKernelArg(make, 0, sizeof x, &x), "x");
        must(clSetKernelArg(make, 1, sizeof value, &value), "value");
        must(clSetKernelArg(make, 2, sizeof rounds, &rounds), "rounds");
        must(clEnqueueNDRangeKernel(queues[i], make, 1, NULL, &n, &n, 0, NULL, NULL), "make");
        must(clEnqueueReadBuffer(queues[i], x, CL_FALSE, 0, 32, into[i], 0, NULL, NULL), "read");
        must(clFlush(queues[i]), "flush");
    }
    must(clFinish(second), "finish");
    must(clFinish(gpu.queue), "finish");
    printf("%d\n", quick_result[0]);
    (void)slow_result;
    return quick_result[0] == 2 ? 0 : 1;
}
