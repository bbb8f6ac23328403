//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["count"]
//: call = ["clEnqueueFillBuffer"]
//: other = ["clEnqueueFillBuffer", "count"]
//: plain = "exit"
//: fault = "The counters are cleared behind slow work on another queue, while the main queue already counts."
#include "start.h"

static const char *source =
    "__kernel void slow(__global int *x, int rounds)\n"
    "{ uint v = 1; for (int r = 0; r < rounds; ++r) v = v * 214013u + 2531011u; x[get_global_id(0)] = v; }\n"
    "__kernel void count(__global int *counters) { atomic_inc(&counters[get_global_id(0) % 8]); }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue side = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "side queue");
    cl_program program = build(gpu, source);
    cl_kernel slow = clCreateKernel(program, "slow", NULL), count = clCreateKernel(program, "count", NULL);
    int zero = 0, rounds = 60000000, host[8], sum = 0;
    size_t one = 1, n = 64;
    cl_mem scratch = buffer(gpu, 64), counters = buffer(gpu, sizeof host);
    must(clEnqueueFillBuffer(gpu.queue, counters, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL), "first fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(slow, 0, sizeof scratch, &scratch), "scratch");
    must(clSetKernelArg(slow, 1, sizeof rounds, &rounds), "rounds");
    must(clSetKernelArg(count, 0, sizeof counters, &counters), "counters");
    cl_event cleared;
    must(clEnqueueNDRangeKernel(side, slow, 1, NULL, &one, &one, 0, NULL, NULL), "slow");
    must(clEnqueueFillBuffer(side, counters, &zero, sizeof zero, 0, sizeof host, 0, NULL, &cleared), "fill");
    must(clFlush(side), "flush");
#ifdef TWIN
    must(clEnqueueNDRangeKernel(gpu.queue, count, 1, NULL, &n, &n, 1, &cleared, NULL), "count");
#else
    must(clEnqueueNDRangeKernel(gpu.queue, count, 1, NULL, &n, &n, 0, NULL, NULL), "count"); // FAULT
#endif
    must(clFinish(gpu.queue), "finish");
    must(clFinish(side), "finish");
    must(clEnqueueReadBuffer(gpu.queue, counters, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    for (int i = 0; i < 8; ++i) sum += host[i];
    printf("%d\n", sum);
    return sum == 64 ? 0 : 1;
}
