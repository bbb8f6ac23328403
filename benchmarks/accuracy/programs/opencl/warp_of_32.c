//: class = "C4"
//: cause = ["race-in-kernel", "warp-size-assumption"]
//: kernel = "dot_tail"
//: launch = 1
//: plain = "exit"
//: fault = "The last 32 work items are taken to run in lockstep, so the tail of the reduction has no barriers."
#include "start.h"

static const char *source =
    "__kernel void dot_tail(__global const float *a, __global const float *b, __global float *out)\n"
    "{\n"
    "    volatile __local float s[64];\n"
    "    int l = get_local_id(0);\n"
    "    s[l] = a[get_global_id(0)] * b[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
#ifdef TWIN
    "    for (int d = 32; d > 0; d /= 2) {\n"
    "        if (l < d) s[l] += s[l + d];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
#else
    "    if (l < 32) {\n" // FAULT
    "        s[l] += s[l + 32]; s[l] += s[l + 16]; s[l] += s[l + 8];\n"
    "        s[l] += s[l + 4]; s[l] += s[l + 2]; s[l] += s[l + 1];\n"
    "    }\n"
#endif
    "    if (l == 0) out[get_group_id(0)] = s[0];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "dot_tail", NULL);
    float one = 1, sums[16], total = 0;
    size_t n = 1024, local = 64;
    cl_mem a = buffer(gpu, n * 4), b = buffer(gpu, n * 4), out = buffer(gpu, sizeof sums);
    must(clEnqueueFillBuffer(gpu.queue, a, &one, 4, 0, n * 4, 0, NULL, NULL), "fill");
    must(clEnqueueFillBuffer(gpu.queue, b, &one, 4, 0, n * 4, 0, NULL, NULL), "fill");
    must(clSetKernelArg(kernel, 0, sizeof a, &a), "a");
    must(clSetKernelArg(kernel, 1, sizeof b, &b), "b");
    must(clSetKernelArg(kernel, 2, sizeof out, &out), "out");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, &local, 0, NULL, NULL), "dot_tail");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL), "read");
    for (int i = 0; i < 16; ++i) total += sums[i];
    printf("%g\n", total);
    return total == 1024 ? 0 : 1;
}
