//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["render", "encode"]
//: other = ["render", "encode"]
//: plain = "exit"
//: fault = "The marker that the second queue waits for is enqueued before the work, not after it."
#include "start.h"

static const char *source =
    "__kernel void render(__global uchar *frame, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 1103515245u + 12345u;\n"
    "  frame[get_global_id(0)] = v == 9 ? 0 : 2; }\n"
    "__kernel void encode(__global const uchar *frame, __global int *sum, int n)\n"
    "{ int s = 0; for (int i = 0; i < n; ++i) s += frame[i]; *sum = s; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_int status;
    cl_command_queue second = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "second queue");
    cl_kernel render = clCreateKernel(program, "render", NULL), encode = clCreateKernel(program, "encode", NULL);
    int n = 64, rounds = 4000000, sum = -1;
    unsigned char zero = 0;
    size_t global = 64, one = 1;
    cl_mem frame = buffer(gpu, 64), out = buffer(gpu, sizeof sum);
    must(clEnqueueFillBuffer(gpu.queue, frame, &zero, 1, 0, 64, 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(render, 0, sizeof frame, &frame), "frame");
    must(clSetKernelArg(render, 1, sizeof rounds, &rounds), "rounds");
    must(clSetKernelArg(encode, 0, sizeof frame, &frame), "frame");
    must(clSetKernelArg(encode, 1, sizeof out, &out), "sum");
    must(clSetKernelArg(encode, 2, sizeof n, &n), "n");
    cl_event rendered;
#ifdef TWIN
    must(clEnqueueNDRangeKernel(gpu.queue, render, 1, NULL, &global, &global, 0, NULL, NULL), "render");
    must(clEnqueueMarkerWithWaitList(gpu.queue, 0, NULL, &rendered), "marker");
#else
    must(clEnqueueMarkerWithWaitList(gpu.queue, 0, NULL, &rendered), "marker"); // FAULT
    must(clEnqueueNDRangeKernel(gpu.queue, render, 1, NULL, &global, &global, 0, NULL, NULL), "render");
#endif
    must(clFlush(gpu.queue), "flush");
    must(clEnqueueNDRangeKernel(second, encode, 1, NULL, &one, &one, 1, &rendered, NULL), "encode");
    must(clEnqueueReadBuffer(second, out, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL), "read");
    must(clFinish(gpu.queue), "finish");
    printf("%d\n", sum);
    return sum == 128 ? 0 : 1;
}
