//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["part", "join_parts"]
//: other = ["part", "join_parts"]
//: plain = "exit"
//: fault = "The join waits for one of two events: the count of the wait list is 1."
#include "start.h"

static const char *source =
    "__kernel void part(__global int *x, int rounds)\n"
    "{ uint v = 7; for (int r = 0; r < rounds; ++r) v = v * 69069u + 5u; x[get_global_id(0)] = v == 8 ? 0 : 21; }\n"
    "__kernel void join_parts(__global const int *a, __global const int *b, __global int *c) { *c = *a + *b; }\n";

int main(void)
{
    Gpu gpu = start(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = build(gpu, source);
    cl_kernel quick = clCreateKernel(program, "part", NULL), slow = clCreateKernel(program, "part", NULL);
    cl_kernel join = clCreateKernel(program, "join_parts", NULL);
    int zero = 0, few = 1000, many = 80000000, sum = -1;
    size_t one = 1;
    cl_mem a = buffer(gpu, 4), b = buffer(gpu, 4), c = buffer(gpu, 4);
    must(clEnqueueFillBuffer(gpu.queue, a, &zero, 4, 0, 4, 0, NULL, NULL), "fill");
    must(clEnqueueFillBuffer(gpu.queue, b, &zero, 4, 0, 4, 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(quick, 0, sizeof a, &a), "a");
    must(clSetKernelArg(quick, 1, sizeof few, &few), "few");
    must(clSetKernelArg(slow, 0, sizeof b, &b), "b");
    must(clSetKernelArg(slow, 1, sizeof many, &many), "many");
    must(clSetKernelArg(join, 0, sizeof a, &a), "a");
    must(clSetKernelArg(join, 1, sizeof b, &b), "b");
    must(clSetKernelArg(join, 2, sizeof c, &c), "c");
    cl_event parts[2];
    must(clEnqueueNDRangeKernel(gpu.queue, quick, 1, NULL, &one, &one, 0, NULL, &parts[0]), "quick part");
    must(clEnqueueNDRangeKernel(gpu.queue, slow, 1, NULL, &one, &one, 0, NULL, &parts[1]), "slow part");
#ifdef TWIN
    must(clEnqueueNDRangeKernel(gpu.queue, join, 1, NULL, &one, &one, 2, parts, NULL), "join");
#else
    must(clEnqueueNDRangeKernel(gpu.queue, join, 1, NULL, &one, &one, 1, parts, NULL), "join"); // FAULT
#endif
    must(clFinish(gpu.queue), "finish");
    must(clEnqueueReadBuffer(gpu.queue, c, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL), "read");
    printf("%d\n", sum);
    return sum == 42 ? 0 : 1;
}
